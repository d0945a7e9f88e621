package capacity

import "testing"

func TestFitSharing_FindsWhatIsOwnAndWhatIsTheCalls(t *testing.T) {
	t.Parallel()
	line := func(own, call float64, together ...float64) (all []Shared) {
		for _, n := range together {
			all = append(all, Shared{Together: n, Cost: own + call/n})
		}
		return all
	}
	for name, c := range map[string]struct {
		measured []Shared
		want     Sharing
	}{
		"a line":             {line(50, 200, 8, 16, 64), Sharing{50, 200}},
		"all own":            {line(50, 0, 8, 16, 64), Sharing{50, 0}},
		"all the call's":     {line(0, 200, 8, 16, 64), Sharing{0, 200}},
		"dearer in company":  {[]Shared{{8, 50}, {64, 60}}, Sharing{55, 0}}, // noise: nothing is below nothing
		"less than nothing":  {[]Shared{{1, 100}, {2, 40}}, Sharing{0, 96}},
		"one":                {line(50, 200, 10), Sharing{70, 0}},
		"none":               {nil, Sharing{}},
		"company of no size": {[]Shared{{0, 10}, {1, 10}}, Sharing{10, 0}},
	} {
		got := FitSharing(c.measured)
		near(t, name+": own", got.Own, c.want.Own)
		near(t, name+": call", got.Call, c.want.Call)
	}
	near(t, "at 4", Sharing{50, 200}.At(4), 100)
	near(t, "alone", Sharing{50, 200}.At(0), 250)
}

func TestFitCompany_IsAPartOfTheConnections(t *testing.T) {
	t.Parallel()
	c := FitCompany([]Gathered{{512, 102.4}, {256, 51.2}, {128, 25.6}})
	near(t, "company", float64(c), 0.2)
	near(t, "at 100", c.At(100), 20)
	near(t, "at least oneself", c.At(1), 1)
	near(t, "of nothing", FitCompany(nil).At(100), 1)
}
