package checkout

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// Calls, by name.
const (
	callLock    = "lock"
	callRedeem  = "redeem"
	callRelease = "release"
	callRefund  = "refund"
)

// Outcomes of calls.
const (
	outcomeDone     = "done"
	outcomeRepeated = "repeated" // the first answer again
	outcomeRefused  = "refused"  // redeemed nothing: the order is to be refunded
	outcomeOrder    = "order"    // the order is unknown, or in no state for this
	outcomeCoupon   = "coupon"   // a coupon is not to be had
	outcomeCart     = "cart"     // the coupons do not fit the cart, or it is broken
	outcomeAmount   = "amount"   // there is less to refund, or the refund's id is another one's
	outcomeFault    = "fault"
)

// counted are the events of coupons that calls and jobs make.
func counted() []coupon.Event {
	return []coupon.Event{coupon.EventLock, coupon.EventRelease, coupon.EventLapse, coupon.EventRedeem, coupon.EventLateRedeem, coupon.EventReturn, coupon.EventExpire}
}

// Metrics count what becomes of coupons and of the orders that use them, for all
// templates together.
type Metrics struct {
	calls   *prometheus.CounterVec // by call and outcome
	coupons *prometheus.CounterVec // by event
	missing *prometheus.CounterVec // by policy
}

// NewMetrics registers the metrics, every label at zero.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_checkout_calls_total", Help: "Calls of order systems that this worker answered, by call and outcome."}, []string{"call", "outcome"}),
		coupons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_coupons_total", Help: "Coupons that calls of order systems and jobs of this worker moved, by event; a repeated call moves none."}, []string{"event"}),
		missing: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_coupons_missing_total", Help: "Coupons that were gone when their order was redeemed, by policy."}, []string{"policy"}),
	}
	for _, call := range []string{callLock, callRedeem, callRelease, callRefund} {
		for _, outcome := range []string{outcomeDone, outcomeRepeated, outcomeRefused, outcomeOrder, outcomeCoupon, outcomeCart, outcomeAmount, outcomeFault} {
			m.calls.WithLabelValues(call, outcome)
		}
	}
	for _, event := range counted() {
		m.coupons.WithLabelValues(string(event))
	}
	for _, policy := range []coupon.IfGone{coupon.GoneHonour, coupon.GoneTopUp, coupon.GoneRefund} {
		m.missing.WithLabelValues(string(policy))
	}
	registry.MustRegister(m.calls, m.coupons, m.missing)
	return m
}

func (m *Metrics) called(call, outcome string) { m.calls.WithLabelValues(call, outcome).Inc() }

func (m *Metrics) moved(event coupon.Event, n int) {
	m.coupons.WithLabelValues(string(event)).Add(float64(n))
}

func (m *Metrics) happened(events checkout.Moved) {
	for _, event := range events {
		m.moved(event, 1)
	}
}

func (m *Metrics) missed(coupons []checkout.MissingCoupon) {
	for _, c := range coupons {
		m.missing.WithLabelValues(string(c.Policy)).Inc()
	}
}

// outcomeOf tells refusals from faults.
func outcomeOf(repeated bool, err error) string {
	var gone *checkout.CouponError
	var rejected *checkout.NotApplicableError
	var broken *pricing.InvalidError
	var less *checkout.LineError
	switch {
	case err == nil && repeated:
		return outcomeRepeated
	case err == nil:
		return outcomeDone
	case errors.As(err, &gone):
		return outcomeCoupon
	case errors.As(err, &rejected), errors.As(err, &broken):
		return outcomeCart
	case errors.As(err, &less), errors.Is(err, checkout.ErrOtherRefund):
		return outcomeAmount
	case errors.Is(err, checkout.ErrNoOrder), errors.Is(err, checkout.ErrOrderLocked), errors.Is(err, checkout.ErrRedeemed), errors.Is(err, checkout.ErrNotRedeemed):
		return outcomeOrder
	}
	return outcomeFault
}
