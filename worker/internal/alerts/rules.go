package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/shared/sale"
)

// Bounds of the conditions.
const (
	wontDrain     = 10 // promises that the backlog may take to be gone
	drainsAgain   = 5  // promises within which it is well again
	streamFull    = 0.8
	streamRelaxed = 0.7
)

// patience of an alert.
func (c Config) patience(name sale.AlertName) patience {
	switch name {
	case sale.AlertBacklogAgeHigh:
		return patience{before: c.BacklogFor}
	case sale.AlertBacklogStalled:
		return patience{before: 10 * time.Second}
	case sale.AlertBacklogWontDrain:
		return patience{before: 30 * time.Second, after: 10 * time.Second}
	case sale.AlertDatabaseSlow:
		return patience{before: 10 * time.Second, after: 30 * time.Second}
	case sale.AlertSurplusRejected, sale.AlertSoldOutWithStock, sale.AlertAuditDeviation:
		return patience{after: time.Minute} // each reconciliation tells anew
	case sale.AlertRefundOwed:
		return patience{before: 30 * time.Second} // the provider may give it back by itself
	case sale.AlertDependencyDown:
		return patience{before: c.DependencyFor, after: 5 * time.Second}
	case sale.AlertSaleNotLive:
		return patience{before: c.NotLiveFor}
	default:
		return patience{}
	}
}

// Backlog is what waits of one sale.
type Backlog struct {
	SaleID   string
	Waiting  int64
	Age      time.Duration // of the oldest; 0 when nothing waits, or while it is not known
	Rate     float64       // reservations served a second, lately
	Measured bool          // the rate is known
}

// Standing says whether nobody can buy a sale that should sell.
type Standing struct {
	SaleID  string
	NotLive bool
}

// Deviation is what the reconciliations found about a sale.
type Deviation struct {
	SaleID string
	Kind   string
	Amount int64
}

// Facts are what Postgres says.
type Facts struct {
	DeadLetters  int64 // open ones
	RefundsOwed  int64 // open ones
	WrongAmounts int64 // payments and refunds that are not of their order's amount, of the last day
	Deviations   []Deviation
	Sales        []string // that are not retired
	Pause        sale.PacePause
}

// Used says how much of a cap is in use.
type Used struct {
	Ratio float64 // 0 to 1
	Of    string  // what the cap is on
}

// Kinds of deviations that are alerts of their own.
type Kinds struct {
	Surplus, SoldOut string
	Others           []string // that are neither those nor audit deviations
}

// seen is what a look at everything says. What could not be looked at is nil.
type seen struct {
	backlog    []Backlog
	live       []Standing
	slow       *bool // the pace is held by the database alone
	facts      *Facts
	streamUsed *Used
	up         map[string]bool
}

// verdict is what a look means: conditions, and the alerts that it says something about.
// An alert of those without a condition is well, unless it is of a sale that there is and
// that was not looked at: a worker has yet to read it.
type verdict struct {
	judged     map[sale.AlertName]bool
	conditions []condition
	unread     func(sale.AlertKey) bool
}

func (v *verdict) add(name sale.AlertName, label sale.AlertKey, bad, good bool, value float64, format string, args ...any) {
	label.Name = name
	v.conditions = append(v.conditions, condition{AlertKey: label, bad: bad, good: good, value: value, summary: fmt.Sprintf(format, args...)})
}

// judge says what a look means.
func (c Config) judge(s seen, grows map[string]bool) verdict {
	v := verdict{judged: map[sale.AlertName]bool{}, unread: func(key sale.AlertKey) bool {
		read := slices.Contains([]sale.AlertName{sale.AlertBacklogAgeHigh, sale.AlertBacklogStalled, sale.AlertBacklogWontDrain, sale.AlertSaleNotLive}, key.Name)
		return read && (s.facts == nil || slices.Contains(s.facts.Sales, key.SaleID))
	}}
	if s.backlog != nil {
		v.judges(sale.AlertBacklogAgeHigh, sale.AlertBacklogStalled, sale.AlertBacklogWontDrain)
		for _, b := range s.backlog {
			v.backlog(b, c.Promise, grows[b.SaleID])
		}
	}
	if s.live != nil {
		v.judges(sale.AlertSaleNotLive)
		for _, l := range s.live {
			v.add(sale.AlertSaleNotLive, sale.AlertKey{SaleID: l.SaleID}, l.NotLive, !l.NotLive, number(l.NotLive),
				"nobody can buy: Redis does not have the sale, or it is being rebuilt%s", because(s.facts))
		}
	}
	if s.slow != nil {
		v.judges(sale.AlertDatabaseSlow)
		v.add(sale.AlertDatabaseSlow, sale.AlertKey{}, *s.slow, !*s.slow, number(*s.slow), "Postgres is slow at the lowest pace already; the pace waits for it")
	}
	if s.facts != nil {
		v.facts(*s.facts, c.Kinds)
	}
	if s.streamUsed != nil {
		v.judges(sale.AlertStreamNearlyFull)
		v.add(sale.AlertStreamNearlyFull, sale.AlertKey{}, s.streamUsed.Ratio >= streamFull, s.streamUsed.Ratio < streamRelaxed, s.streamUsed.Ratio,
			"%.0f %% of the cap on %s is in use; at the cap they are refused", 100*s.streamUsed.Ratio, s.streamUsed.Of)
	}
	if s.up != nil {
		v.judges(sale.AlertDependencyDown)
		for _, name := range slices.Sorted(maps.Keys(s.up)) {
			v.add(sale.AlertDependencyDown, sale.AlertKey{Dependency: name}, !s.up[name], s.up[name], number(!s.up[name]), "%s does not answer the worker", name)
		}
	}
	return v
}

func (v *verdict) judges(names ...sale.AlertName) {
	for _, name := range names {
		v.judged[name] = true
	}
}

// backlog judges what waits of one sale. It won't drain when at the rate at which it is
// served it takes ten promises or more, or when it is late and grows all the same.
// While nothing is served it is stalled, and nobody knows about the rest.
func (v *verdict) backlog(b Backlog, promise time.Duration, grows bool) {
	of, waits := sale.AlertKey{SaleID: b.SaleID}, b.Waiting > 0
	late := waits && b.Age > promise
	v.add(sale.AlertBacklogAgeHigh, of, late, !waits || b.Age > 0 && b.Age < promise/2, b.Age.Seconds(),
		"the oldest of %d reservations has waited for %v; %v are promised", b.Waiting, b.Age.Round(time.Second), promise)
	if late { // a worker that comes back need not wait to know
		v.conditions[len(v.conditions)-1].held = b.Age - promise
	}
	v.add(sale.AlertBacklogStalled, of, waits && b.Measured && b.Rate == 0, !waits || b.Rate > 0, float64(b.Waiting),
		"%d reservations wait and none is served", b.Waiting)
	if waits && b.Rate == 0 { // or it is not known
		v.add(sale.AlertBacklogWontDrain, of, false, false, 0, "")
		return
	}
	drain, worse := 0.0, late && grows
	if waits {
		drain = float64(b.Waiting) / b.Rate
	}
	summary := "%d reservations wait and %.3g a second are served: that takes %.0f s"
	if worse {
		summary += ", and more come than are served"
	}
	v.add(sale.AlertBacklogWontDrain, of, worse || drain > wontDrain*promise.Seconds(), !worse && drain < drainsAgain*promise.Seconds(), drain,
		summary, b.Waiting, b.Rate, drain)
}

// facts judges what Postgres says.
func (v *verdict) facts(f Facts, kinds Kinds) {
	v.judges(sale.AlertDeadLetters, sale.AlertRefundOwed, sale.AlertWrongAmount, sale.AlertSurplusRejected, sale.AlertSoldOutWithStock, sale.AlertAuditDeviation)
	v.count(sale.AlertDeadLetters, f.DeadLetters, "%d dead letters are open", f.DeadLetters)
	v.count(sale.AlertRefundOwed, f.RefundsOwed, "%d payments are to be refunded", f.RefundsOwed)
	v.count(sale.AlertWrongAmount, f.WrongAmounts, "%d payments or refunds of the last day are not of their order's amount and were not applied", f.WrongAmounts)
	var surplus, deviations int64
	found := map[string]bool{}
	for _, d := range f.Deviations {
		switch {
		case d.Kind == kinds.Surplus:
			surplus += d.Amount
		case d.Kind == kinds.SoldOut:
			v.add(sale.AlertSoldOutWithStock, sale.AlertKey{SaleID: d.SaleID}, d.Amount > 0, d.Amount == 0, float64(d.Amount),
				"Redis said sold out and had %d in stock", d.Amount)
		case !slices.Contains(kinds.Others, d.Kind):
			deviations += d.Amount
			found[d.Kind+" of "+d.SaleID] = true
		}
	}
	v.count(sale.AlertSurplusRejected, surplus, "%d reservations were rejected because Redis sold more than there is", surplus)
	v.count(sale.AlertAuditDeviation, deviations, "the stores deviate by %d: %s", deviations, few(found))
}

func (v *verdict) count(name sale.AlertName, n int64, format string, args ...any) {
	v.add(name, sale.AlertKey{}, n > 0, n == 0, float64(n), format, args...)
}

// because is why a rebuild may not end, as far as Postgres says.
func because(f *Facts) string {
	if f == nil || !f.Pause.Paused {
		return ""
	}
	return ", which waits for orders: " + f.Pause.String()
}

// few names some of a set.
func few(set map[string]bool) string {
	names := slices.Sorted(maps.Keys(set))
	if len(names) > 5 {
		names = append(names[:5], "…")
	}
	return strings.Join(names, ", ")
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
