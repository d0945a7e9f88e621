package funnel

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// admission lets attempts through to the line at a bounded rate, per sale and in
// total. Who would have to wait longer than wait is refused at once.
type admission struct {
	mu       sync.Mutex // a refusal is taken back before the next attempt reserves
	total    *rate.Limiter
	saleRate float64 // attempts a second; 0 is unlimited
	wait     time.Duration
	sales    sync.Map // sale id → *rate.Limiter
}

func newAdmission(c Config) *admission {
	return &admission{total: newLimiter(c.AdmitRate), saleRate: c.AdmitSaleRate, wait: c.AdmitWait}
}

// newLimiter allows perSecond attempts, a tenth of a second's worth at once; 0 is
// unlimited.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
}

func (a *admission) sale(id string) *rate.Limiter {
	if l, ok := a.sales.Load(id); ok {
		return l.(*rate.Limiter)
	}
	l, _ := a.sales.LoadOrStore(id, newLimiter(a.saleRate))
	return l.(*rate.Limiter)
}

// admit is the layer that lets attempts through to the line for the script.
func (f *Funnel) admit(s *catalog.Sale, a *attempt) Result {
	f.exits.Enter(sale.LayerAdmission)
	if !f.admission.turn(s.ID()) || !f.line(s).join(a) {
		return Result{Outcome: sale.Busy, Layer: sale.LayerAdmission}
	}
	return Result{}
}

// turn waits for the attempt's turn; false when its turn is too far away. A
// refused attempt takes nobody's place.
func (a *admission) turn(saleID string) bool {
	wait, ok := a.reserve(a.sale(saleID))
	if ok && wait > 0 {
		time.Sleep(wait)
	}
	return ok
}

// reserve is one step: a limiter does not give back tokens that others have
// reserved behind them, so refusals that overlap would leave it in debt.
func (a *admission) reserve(limiter *rate.Limiter) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	ofSale, ofAll := limiter.ReserveN(now, 1), a.total.ReserveN(now, 1)
	wait = max(ofSale.DelayFrom(now), ofAll.DelayFrom(now))
	if wait > a.wait {
		ofAll.CancelAt(now)
		ofSale.CancelAt(now)
		return 0, false
	}
	return wait, true
}
