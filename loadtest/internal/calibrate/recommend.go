package calibrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Part of what was found to be borne that is let through. What is left is for what no
// try has shown: other requests, a store that is slow for a moment, a busier machine.
const Part = 0.8

// Capacity is what was found to be borne at the highest rate that passes.
type Capacity struct {
	Admission float64       `json:"admission_per_s"` // attempts that reached admission a second, at all gateways together
	OneSale   float64       `json:"one_sale_per_s"`  // of the sale that most of them were for
	Gateways  int           `json:"gateways"`        // that shared them evenly
	Target    time.Duration `json:"target_ns"`       // of p99
	Calm      time.Duration `json:"calm_ns"`         // p99 at a rate that admission would let through; 0 is not known
}

// Limits are settings of every one of the gateways.
type Limits struct {
	Gateways int           `json:"gateways"`
	Rate     float64       `json:"admit_rate"`      // attempts a second
	SaleRate float64       `json:"admit_sale_rate"` // attempts a second
	Wait     time.Duration `json:"admit_wait_ns"`
	Line     int           `json:"reserve_line"`

	LowerBound []string `json:"lower_bound,omitempty"` // why the stack may bear more
}

// What a gateway does by default, see its -help.
const (
	DefaultWait = 200 * time.Millisecond
	Batch       = 256
)

// Recommend derives limits. An attempt that waits for its turn has less time left for
// its answer: half of what the target leaves is for the wait. A line that is longer than
// what is let through within the target makes answers that come too late; two reserve
// calls' worth is what a line needs at least.
func Recommend(c Capacity) Limits {
	each := func(perSecond float64) float64 {
		return floored(Part * perSecond / float64(c.Gateways))
	}
	l := Limits{Gateways: c.Gateways, Rate: each(c.Admission), SaleRate: each(c.OneSale)}
	calm := c.Calm
	if calm == 0 {
		calm = c.Target / 2
	}
	l.Wait = min(DefaultWait, max(0, c.Target-calm)/2).Truncate(time.Millisecond)
	l.Line = max(2*Batch, int(math.Ceil(l.Rate*c.Target.Seconds())))
	return l
}

// floored keeps three figures and never more than it was given.
func floored(perSecond float64) float64 {
	if perSecond < 1 {
		return math.Floor(perSecond*100) / 100
	}
	unit := math.Pow(10, max(0, math.Floor(math.Log10(perSecond))-2))
	return math.Floor(perSecond/unit) * unit
}

// All is what the gateways let through together, attempts a second.
func (l Limits) All() float64 { return l.Rate * float64(l.Gateways) }

// Command is the limits as a gateway's flags.
func (l Limits) Command() string {
	return fmt.Sprintf("gateway -admit-rate %s -admit-sale-rate %s -admit-wait %s -reserve-line %d", typed(l.Rate), typed(l.SaleRate), l.Wait, l.Line)
}

// Pasted is the command with what must not get lost on the way to where it is set.
func (l Limits) Pasted() string { return l.Command() + l.remark() }

func (l Limits) remark() string {
	if len(l.LowerBound) == 0 {
		return ""
	}
	return " # lower bound: " + strings.Join(l.LowerBound, "; ")
}

// Env is the same as a gateway's environment.
func (l Limits) Env() []string {
	return []string{
		"SLUICE_ADMIT_RATE=" + typed(l.Rate), "SLUICE_ADMIT_SALE_RATE=" + typed(l.SaleRate),
		"SLUICE_ADMIT_WAIT=" + l.Wait.String(), "SLUICE_RESERVE_LINE=" + strconv.Itoa(l.Line),
	}
}

func typed(perSecond float64) string { return strconv.FormatFloat(perSecond, 'f', -1, 64) }

// saved is how much a limiter lets through at once after a quiet moment, in time at its
// rate; one attempt at least.
const saved = 100 * time.Millisecond

// head is how many of a crowd that comes at once are let through without being refused:
// what was saved, and what may wait.
func (l Limits) head() float64 {
	burst := max(1, math.Floor(l.Rate*saved.Seconds()))
	return float64(l.Gateways)*burst + l.All()*l.Wait.Seconds()
}

// Busy is the part of attempts that are refused when they come at one rate for so long.
func (l Limits) Busy(perSecond float64, d time.Duration) float64 {
	passed := l.All() + l.head()/d.Seconds()
	return max(0, 1-passed/perSecond)
}

// Begins is when the first attempt is refused of those that begin to come at one rate;
// false if none ever is.
func (l Limits) Begins(perSecond float64) (time.Duration, bool) {
	if perSecond <= l.All() {
		return 0, false
	}
	return seconds(l.head() / (perSecond - l.All())), true
}

// Through is how long it takes at least until each of a crowd that comes at once has been
// let through, if those who are refused come again as told.
func (l Limits) Through(crowd float64) time.Duration {
	return seconds(max(0, crowd-l.head()) / l.All())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
