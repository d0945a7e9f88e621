package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/mix"
)

// Config is what a calibration looks for, and how.
type Config struct {
	P99         time.Duration `json:"p99_ns"` // the target, of in-stock attempts
	Range       Range         `json:"range"`
	Lasts       time.Duration `json:"lasts_ns"` // of one try
	Rest        time.Duration `json:"rest_ns"`  // most time for workers to order what a try left; 0 is none
	Mix         mix.Mix       `json:"mix"`
	Processes   int           `json:"processes"`   // that send
	Connections int           `json:"connections"` // of all of them together
	Timeout     time.Duration `json:"timeout_ns"`  // of one attempt
	Confirm     bool          `json:"confirm"`     // the recommendation is tried out
}

// Rates that can be asked for, attempts a second.
const (
	least = 1
	most  = 1_000_000
)

// leastAttempts of a try: those that buy are to be enough for a p99, with some to spare.
func (c Config) leastAttempts() float64 {
	p := c.Mix.Attempts
	all := p.SoldOut + p.Buyers + p.Repeats + p.KeyedRepeats + p.Early
	return math.Ceil(1.5 * leastAnswers * float64(all) / float64(p.Buyers))
}

// Usual is a calibration for whose figures there is time.
func Usual() Config {
	return Config{
		P99: 100 * time.Millisecond, Lasts: 5 * time.Second, Rest: 15 * time.Second, Timeout: 10 * time.Second,
		Range: Range{Start: 500, Least: 20, Most: 200_000, Tolerance: 0.05},
		Mix:   Buyers(), Processes: 2, Connections: 512, Confirm: true,
	}
}

// Quick is one that shows, on any machine, that everything still runs: it tries one rate,
// and its target is kept by a machine that does other things.
func Quick() Config {
	c := Usual()
	c.P99, c.Lasts, c.Rest = time.Second, time.Second, 0
	c.Range = Range{Start: 450, Least: 450, Most: 450, Tolerance: 1}
	c.Processes, c.Connections = 1, 128
	return c
}

// What does not run out however long is calibrated.
const (
	units = 50_000_000
	users = 200_000_000
)

// Buyers is the mix of a calibration unless another is declared: in one sale that does
// not sell out everybody has stock to find, so every attempt goes through the whole
// funnel. A tenth are clicked again, with the key or without.
func Buyers() mix.Mix {
	return mix.Mix{
		Users: users, Seed: 1, Attempts: mix.Parts{Buyers: 90, Repeats: 5, KeyedRepeats: 5},
		HotPercent: 100, RepeatWithin: 500, FollowPercent: 10, PollingPercent: 50,
		Sales: []mix.Sale{{ID: "calibrate", Role: mix.Hot, Count: 1, Units: units, PerUserLimit: 1}},
	}
}

// Lasting is a declared mix with buyers and units that do not run out: who comes again as
// somebody that has a ticket, or finds a sale sold out, costs less than who does not. The
// units are those of a stack of its own; a running one has those that it has.
//
// Unless it is to be whole, nobody comes for what is sold out or not open: at an opening
// nobody is refused from memory, so limits follow from attempts that reach admission.
func Lasting(m mix.Mix, whole bool) (mix.Mix, error) {
	if m.Attempts.Buyers == 0 {
		return m, errors.New("attempts.buyers must be above 0: a p99 of in-stock attempts needs some")
	}
	m.Users = max(m.Users, users)
	m.Sales = slices.Clone(m.Sales)
	if !whole {
		m.Attempts.SoldOut, m.Attempts.Early = 0, 0
		m.Sales = slices.DeleteFunc(m.Sales, func(s mix.Sale) bool { return s.Role == mix.SoldOut || s.Role == mix.Early })
	}
	for i := range m.Sales {
		if role := m.Sales[i].Role; role == mix.Hot || role == mix.Open {
			m.Sales[i].Units = max(m.Sales[i].Units, units)
		}
	}
	return m, nil
}

// Fitted is c without rates at which a try is too small to be judged, and with buyers that
// no stack has seen, for one that was calibrated before knows those it saw.
func (c Config) Fitted(now time.Time) Config {
	c.Range.Least = min(c.Range.Start, max(c.Range.Least, math.Ceil(c.leastAttempts()/c.Lasts.Seconds())))
	c.Mix.Seed = now.UnixMicro()
	return c
}

// Check finds what cannot be; the errors name the flags of loadtest calibrate.
func (c Config) Check() error {
	switch r := c.Range; {
	case c.P99 < time.Millisecond || c.P99 > time.Minute:
		return fmt.Errorf("-p99 must be 1ms to 1m, is %s", c.P99)
	case c.Lasts < time.Second || c.Lasts > 10*time.Minute:
		return fmt.Errorf("-duration must be 1s to 10m, is %s", c.Lasts)
	case !(r.Start >= least && r.Start <= most):
		return fmt.Errorf("-start must be %d to %d attempts a second, is %g", least, most, r.Start)
	case r.Start*c.Lasts.Seconds() < c.leastAttempts():
		return fmt.Errorf("-start × -duration must be at least %.0f attempts, or the p99 of those that buy means nothing; is %g", c.leastAttempts(), r.Start*c.Lasts.Seconds())
	case !(r.Most >= r.Start && r.Most <= most):
		return fmt.Errorf("-most must be -start, %g, to %d attempts a second, is %g", r.Start, most, r.Most)
	case !(r.Tolerance >= 0.01 && r.Tolerance <= 1):
		return fmt.Errorf("-tolerance must be 0.01 to 1, is %g", r.Tolerance)
	case c.Timeout < c.P99:
		return fmt.Errorf("-timeout must be at least -p99, %s, is %s", c.P99, c.Timeout)
	case c.Processes < 1 || c.Processes > campaign.MostProcesses:
		return fmt.Errorf("-processes must be 1 to %d, is %d", campaign.MostProcesses, c.Processes)
	case c.Connections < c.Processes || c.Connections > campaign.MostConnections:
		return fmt.Errorf("-connections must be %d to %d, one for each process at least, is %d", c.Processes, campaign.MostConnections, c.Connections)
	}
	return nil
}

// busiest is the sale that most attempts are for that find stock.
func busiest(m mix.Mix) string {
	for _, role := range []mix.Role{mix.Hot, mix.Open} {
		for _, s := range m.Expanded() {
			if s.Role == role {
				return s.ID
			}
		}
	}
	return ""
}

// meant is, among so many attempts from the first on, how many are for sales that should
// have units left, and how many of those are for the sale that most of them are for.
func meant(c *mix.Crowd, first, n int) (all, one int) {
	sales := make(map[int]int)
	for i := first; i < first+n; i++ {
		switch a := c.At(i); a.Kind {
		case mix.KindBuyer, mix.KindRepeat, mix.KindKeyedRepeat:
			all++
			sales[a.Sale]++
			one = max(one, sales[a.Sale])
		case mix.KindSoldOut, mix.KindEarly:
		}
	}
	return all, one
}
