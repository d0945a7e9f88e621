package calibrate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// Confirmed is what gateways with the recommended limits did at a multiple of the rate
// that passed.
type Confirmed struct {
	Try
	Times float64 `json:"times"`     // the rate that passed
	Said  float64 `json:"busy_said"` // part of the attempts that reach admission
	Busy  float64 `json:"busy"`      // found

	Witnessed Witnessed `json:"witnessed"`
}

// floods are the multiples that are tried, in order, until one is not unclear.
var floods = []float64{2, 1.5, 1.2}

// confirm tries the limits out on a stack of its own.
func (r *run) confirm(ctx context.Context, l Limits) (c *Confirmed, err error) {
	r.say("starting gateways with the recommended limits: %s", l.Command())
	info, stop, err := r.Start(ctx, l.Env())
	if err != nil {
		return nil, unlessEnded(ctx, err)
	}
	defer func() {
		if stopped := stop(); err == nil {
			err = stopped
		}
	}()
	s := r.site(info)
	for _, times := range floods {
		c, err = r.decide(ctx, s, l, times)
		if err != nil || c == nil || c.Verdict != Unclear {
			return c, err
		}
	}
	return c, nil
}

// decide floods until two floods agree, and returns the last. It is nil when ctx ended
// before: one flood decides nothing. All of them are kept.
func (r *run) decide(ctx context.Context, s *site, l Limits, times float64) (*Confirmed, error) {
	votes := make(map[Verdict]int)
	for {
		c, err := s.flood(ctx, l, r.found.Pass, times, r.P99)
		if c == nil || err != nil {
			return nil, err
		}
		c.unsure()
		if votes[c.Verdict]++; votes[c.Verdict] == agree {
			c.Decided = c.Verdict
		}
		r.floods = append(r.floods, *c)
		r.say("%s", c.line())
		if c.Decided != Unknown {
			return c, nil
		}
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
	}
}

// flood attacks at a multiple of the rate that passed. It is nil when ctx ended.
func (s *site) flood(ctx context.Context, l Limits, pass, times float64, target time.Duration) (*Confirmed, error) {
	watching, enough := context.WithCancel(ctx)
	defer enough()
	seen := make(chan Witnessed, 1)
	go func() { seen <- newWitness(s.stack, busiest(s.config.Mix), s.config.Timeout).watch(watching) }()
	t, o, complete, err := s.attack(ctx, round(times*pass), s.config.Lasts)
	enough()
	c := &Confirmed{Try: t, Times: times, Said: l.Busy(t.Admission, s.config.Lasts), Witnessed: <-seen}
	if err != nil || !complete {
		return nil, err
	}
	witnesses := float64(c.Witnessed.Attempts) / s.config.Lasts.Seconds() // reached admission too
	if c.Admission -= witnesses; c.Admission > 0 {
		c.Busy = float64(ended(o.Counts, sale.Busy.String())) / (c.Admission * s.config.Lasts.Seconds())
	}
	c.Judged, err = judgeFlood(o, float64(target.Milliseconds()))
	return c, err
}

// judgeFlood judges what was let through: that others were busy is what limits are for.
func judgeFlood(o Observed, targetMS float64) (Judged, error) {
	calm := o
	calm.Counts = make(map[string]int, len(o.Counts))
	for class, n := range o.Counts {
		if outcome(class) != sale.Busy.String() {
			calm.Counts[class] = n
		}
	}
	calm.Meant = 0 // most found no stock to take: they were refused
	j, err := Judge(calm, targetMS)
	j.Refused = overload(o.Counts)
	return j, err
}

// ended counts the attempts with an outcome.
func ended(counts map[string]int, name string) (n int) {
	for class, m := range counts {
		if outcome(class) == name {
			n += m
		}
	}
	return n
}

// nearEnough is how far the part that is busy may be from what was said: gateways are dealt
// attempts at random, and limiters count from their own start.
const nearEnough = 0.05

// promises are what the limits were recommended for, and whether it was found.
func (c *Confirmed) promises(target time.Duration) []report.Promise {
	at := fmt.Sprintf("with the limits, at %g × the rate that passed", c.Times)
	others := 0
	for name, n := range c.Refused {
		if name != sale.Busy.String() {
			others += n
		}
	}
	p99 := report.Promise{Name: "confirm_p99_ms", Text: "p99 of in-stock attempts that are let through, in ms, " + at, Bound: float64(target.Milliseconds())}
	if c.Verdict != Unclear && c.Class != "" {
		p99 = p99.Judge(c.P99)
	}
	busy := report.Promise{Name: "confirm_busy_off_by", Text: fmt.Sprintf("part that is told busy, away from the %.2f that was said, %s", c.Said, at), Bound: nearEnough}
	broken := report.Promise{Name: "confirm_not_answered", Text: "attempts refused otherwise than as busy, or without an answer, " + at}
	if c.Verdict != Unclear {
		busy, broken = busy.Judge(math.Abs(c.Busy-c.Said)), broken.Judge(float64(others))
	}
	return []report.Promise{p99, busy, broken}
}

// words say what the confirmation found.
func (c *Confirmed) words(target time.Duration) string {
	at := fmt.Sprintf("With these limits and %s attempts a second, %g × what passed,", count(c.PerSecond), c.Times)
	if c.Verdict == Unclear {
		return fmt.Sprintf("%s the recommendation is not proven on this machine: %s. %s", at, c.Why, c.Words)
	}
	kept := "stayed under"
	if c.P99 > float64(target.Milliseconds()) {
		kept = "did not stay under"
	}
	said := fmt.Sprintf("%s %.0f %% of what reached admission was told busy (%.0f %% was said); p99 of what was let through was %s and %s %s.", at, 100*c.Busy, 100*c.Said, ms(c.P99), kept, target)
	if n := c.Refused[attack.OutcomeFault]; n > 0 {
		said += fmt.Sprintf(" %s had no answer.", count(float64(n)))
	}
	return said + " " + c.Witnessed.words()
}

func (c *Confirmed) line() string {
	return fmt.Sprintf("%8s/s  p99 %9s  busy %.0f %%, said %.0f %%  %s %s%s", count(c.PerSecond), ms(c.P99), 100*c.Busy, 100*c.Said, c.Verdict, c.Why, c.decision())
}

// confirmation says what became of the limits in floods, and of which floods that is.
func (r *run) confirmation() (words []string) {
	if len(r.floods) == 0 {
		return []string{"The recommendation was not tried out."}
	}
	if r.Running {
		words = append(words, "The limits were tried out on a stack of the tool's own, on the machine of the tool, and not on the stack that was calibrated: what that does with them is not shown.")
	}
	for _, times := range floods {
		words = append(words, r.steppedDown(times)...)
	}
	if r.confirmed == nil {
		return append(words, "No two floods agreed on the recommendation: it is not proven.")
	}
	return append(words, r.confirmed.words(r.P99))
}

// steppedDown says why a multiple was left for a lesser one, if it was.
func (r *run) steppedDown(times float64) []string {
	var found []string
	left := false
	for i, c := range r.floods {
		if c.Times == times {
			found = append(found, fmt.Sprintf("p99 %s, %s", ms(c.P99), strings.TrimSuffix(string(c.Verdict)+": "+c.Why, ": ")))
			left = c.Decided == Unclear && i < len(r.floods)-1
		}
	}
	if !left {
		return nil
	}
	return []string{fmt.Sprintf("Floods of %g × what passed decided nothing (%s), so a lesser one was tried.", times, strings.Join(found, "; "))}
}
