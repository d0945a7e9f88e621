package capacity

import "testing"

// measured is a machine of two cores: 10,000 attempts a second at 180 µs, a tenth of them for
// a call of 20 who travel together.
func measured() Fit {
	return Fit{Cores: 2, Connections: 400,
		Rush:     Rush{PerSecond: 10_000, CPU: 180e-6, UntilLast: 6, Busy: 1.8, BusyAll: 1.5},
		Refusals: Refusals{PerSecond: 60_000, CPU: 30e-6, Busy: 1.8},
		Sharing:  Sharing{Own: 160e-6, Call: 400e-6}, Company: 0.05}
}

func TestPredict_OneIsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	f := measured()
	rush, refusals := f.PredictRush(1, 2), f.PredictRefusals(1, 2)
	near(t, "accepts", rush.PerSecond, f.Rush.PerSecond)
	near(t, "CPU", rush.CPU, f.Rush.CPU)
	near(t, "last order", rush.UntilLast, f.Rush.UntilLast)
	near(t, "refusals", refusals.PerSecond, f.Refusals.PerSecond)
	near(t, "CPU of a refusal", refusals.CPU, f.Refusals.CPU)
}

func TestPredictRush_MoreGatewaysCarryFewerAtATimeAndLeaveLessIdle(t *testing.T) {
	t.Parallel()
	f := measured()
	two := f.PredictRush(2, 2)
	near(t, "together", two.Together, 10)
	near(t, "CPU", two.CPU, 200e-6)                                  // 400 µs over 10 instead of 20
	near(t, "busy", two.Busy, 1.98)                                  // both idle a hundredth of the time
	near(t, "accepts", two.PerSecond, 10_000*(1.98/1.8)*(180.0/200)) // more cores, dearer attempts
	near(t, "last order", two.UntilLast, 6*(1.5/1.875)*(200.0/180))  // 1.5 of 2 cores leave 1/16 idle
	f.Rest = 0.1
	near(t, "CPU at rest", f.PredictRush(2, 2).CPU, 210e-6) // a tenth of a core over 10,000 attempts
}

func TestPredict_AMachineThatIsFullStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := measured()
	f.Rush.Busy, f.Rush.BusyAll, f.Refusals.Busy, f.Sharing = 2, 2, 2, Sharing{Own: 180e-6}
	near(t, "accepts", f.PredictRush(4, 2).PerSecond, 10_000)
	near(t, "last order", f.PredictRush(4, 2).UntilLast, 6)
	near(t, "refusals", f.PredictRefusals(4, 2).PerSecond, 60_000)
}

func TestPredict_FewerCoresDoLess(t *testing.T) {
	t.Parallel()
	f := measured()
	half := f.PredictRush(1, 1)
	near(t, "accepts", half.PerSecond, 5_000)
	near(t, "CPU", half.CPU, 180e-6)
	near(t, "last order", half.UntilLast, 12)
	near(t, "refusals", f.PredictRefusals(1, 1).PerSecond, 30_000)
}

func TestError_IsAboveNothingWhenTooMuchWasPromised(t *testing.T) {
	t.Parallel()
	near(t, "too much", Error(125, 100), 0.25)
	near(t, "too little", Error(80, 100), -0.2)
}
