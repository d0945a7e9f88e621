package capacity

import "math"

// Rush is a crowd for whom there are units enough: all come as fast as they are answered, and
// the workers make orders meanwhile.
type Rush struct {
	PerSecond float64 `json:"per_second"`            // attempts accepted while it lasts
	CPU       float64 `json:"cpu_seconds"`           // of the stack and the tool, for an attempt and its order
	UntilLast float64 `json:"until_last_seconds"`    // from the first attempt to the last order
	Busy      float64 `json:"busy_cores"`            // while it lasts
	BusyAll   float64 `json:"busy_cores_until_last"` // until the last order
	Together  float64 `json:"attempts_in_a_call"`    // of the reserve script
}

// Refusals are a crowd of a sold-out sale.
type Refusals struct {
	PerSecond float64 `json:"per_second"`
	CPU       float64 `json:"cpu_seconds"` // of the stack and the tool, for one
	Busy      float64 `json:"busy_cores"`
}

// Fit is what one gateway and one worker showed on a machine that they share with the stores
// and the tool. All of it is CPU time of the same cores, which are the station that binds.
type Fit struct {
	Cores       float64  `json:"cores"`       // of the machine, less what everything else used
	Connections float64  `json:"connections"` // of all gateways together, in what is predicted
	Rush        Rush     `json:"rush"`
	Refusals    Refusals `json:"refusals"`
	Sharing     Sharing  `json:"sharing"`
	Company     Company  `json:"company"`
	Rest        float64  `json:"rest_cores"` // of one more gateway and one more worker, while nobody comes
}

// busy is how many of the cores that there are n gateways and workers keep busy where one of
// each leaves some idle: each waits for disks and for the others' answers at times of its own,
// and a core is idle when all wait.
func (f Fit) busy(one, cores float64, n int) float64 {
	idle := 1 - min(1, one/f.Cores)
	return cores * (1 - math.Pow(idle, float64(n)))
}

// PredictRush is a rush at n gateways and n workers, over the same connections in all, on so
// many cores: those of the machine, less what everything else uses then.
func (f Fit) PredictRush(n int, cores float64) Rush {
	together := f.Company.At(f.Connections / float64(n))
	// The measured cost at one, and what the line says that less company adds to it.
	cost := f.Rush.CPU + f.Sharing.At(together) - f.Sharing.At(f.Company.At(f.Connections))
	cost += float64(n-1) * f.Rest / f.Rush.PerSecond
	p := Rush{CPU: cost, Together: together, Busy: f.busy(f.Rush.Busy, cores, n), BusyAll: f.busy(f.Rush.BusyAll, cores, n)}
	dearer := cost / f.Rush.CPU
	p.PerSecond = f.Rush.PerSecond * p.Busy / f.Rush.Busy / dearer
	p.UntilLast = f.Rush.UntilLast * f.Rush.BusyAll / p.BusyAll * dearer
	return p
}

// PredictRefusals are those of n gateways: nothing is shared, so one costs what it did.
func (f Fit) PredictRefusals(n int, cores float64) Refusals {
	cost := f.Refusals.CPU + float64(n-1)*f.Rest/f.Refusals.PerSecond
	p := Refusals{CPU: cost, Busy: f.busy(f.Refusals.Busy, cores, n)}
	p.PerSecond = f.Refusals.PerSecond * p.Busy / f.Refusals.Busy * f.Refusals.CPU / cost
	return p
}

// Error is by how much a prediction differs from what was found, as a part of that; above
// nothing where it was too high.
func Error(predicted, found float64) float64 { return predicted/found - 1 }
