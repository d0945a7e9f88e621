package httpapi

import (
	"math/bits"
	"strconv"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/eta"
	"sluice/shared/sale"
)

// ticketBody is what a buyer's app gets and polls.
type ticketBody struct {
	Ticket      string      `json:"ticket"`
	Sale        string      `json:"sale"`
	Status      sale.Status `json:"status"`
	Reason      sale.Reason `json:"reason,omitempty"`
	Ahead       *int64      `json:"ahead,omitempty"` // buyers before this one, while queued
	ETA         *etaBody    `json:"eta"`             // null when unknown, or no longer queued
	PollAfterMS int64       `json:"poll_after_ms"`
	OrderID     string      `json:"order_id,omitempty"`
	CouponID    string      `json:"coupon_id,omitempty"` // of a claim: its order and its coupon have one id
	Amount      *int64      `json:"amount,omitempty"`    // minor units of currency
	Currency    string      `json:"currency,omitempty"`
	PayBy       time.Time   `json:"pay_by,omitzero"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	SaleState   sale.State  `json:"sale_state"`
	ServerTime  time.Time   `json:"server_time"`
	Replay      bool        `json:"replay,omitempty"`
}

// etaBody is when the outcome is to be expected, in seconds from now.
type etaBody struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (a *API) body(s *catalog.Sale, userID string, t sale.Ticket, now time.Time) ticketBody {
	b := ticketBody{
		Ticket: a.Signer.Sign(s.ID(), userID, t.Slot, t.RID), Sale: s.ID(), Status: shown(s, t), Reason: t.Reason,
		PayBy: t.PayBy, CreatedAt: t.AcceptedAt, UpdatedAt: t.UpdatedAt, SaleState: s.State(now), ServerTime: serverTime(s, now),
	}
	b.Ahead = ahead(s, t)
	if t.Status != sale.StatusQueued && t.Status != sale.StatusRejected {
		price := s.Entry().PriceMinor
		b.OrderID, b.Amount, b.Currency = t.RID, &price, s.Entry().Currency
		if ofCoupons(s) {
			b.CouponID = t.RID
		}
	}
	outlook := s.Outlook()
	b.ETA = expected(s, t, outlook, now)
	b.PollAfterMS = pollAfter(t, b.Ahead, outlook.Pace(now), s.Now(now).Sub(t.AcceptedAt))
	return b
}

func ofCoupons(s *catalog.Sale) bool { return s.Entry().Kind == sale.KindCoupon }

// shown is a ticket's status in the words of its kind of sale: a claim is paid from birth
// for everybody behind the gateway, for its buyer the coupon is confirmed.
func shown(s *catalog.Sale, t sale.Ticket) sale.Status {
	if t.Status == sale.StatusPaid && ofCoupons(s) {
		return sale.StatusConfirmed
	}
	return t.Status
}

// serverTime is Redis time, to the millisecond that Redis time is kept in.
func serverTime(s *catalog.Sale, now time.Time) time.Time {
	return s.Now(now).UTC().Truncate(time.Millisecond)
}

// ahead is how many buyers are served before t; nil when t is served, or no worker
// said how far they are.
func ahead(s *catalog.Sale, t sale.Ticket) *int64 {
	n, ok := until(s, t)
	if !ok {
		return nil
	}
	n = max(0, n)
	return &n
}

// until is how many are served before t has its turn, negative when it was overtaken;
// false as for ahead.
func until(s *catalog.Sale, t sale.Ticket) (n int64, ok bool) {
	p, ok := s.Progress()
	return t.Rank - 1 - p.Served, ok && t.Status == sale.StatusQueued
}

// expected is when a ticket has its outcome; nil when that is unknown. A paused sale
// serves what it has accepted, so its pause changes nothing here.
func expected(s *catalog.Sale, t sale.Ticket, o eta.Outlook, now time.Time) *etaBody {
	n, ok := until(s, t)
	if !ok {
		return nil
	}
	low, high, ok := o.Range(now, n)
	if !ok {
		return nil
	}
	return &etaBody{Low: low, High: high}
}

// ticketTag is the tag that a ticket's body would have.
func ticketTag(s *catalog.Sale, t sale.Ticket) string {
	return ticketBody{Status: shown(s, t), UpdatedAt: t.UpdatedAt, Ahead: ahead(s, t)}.tag()
}

// tag is over the status, when it changed, and about how many are ahead: a buyer far back
// is not told of every step. It is of what the body says: progress that came since is news.
func (b ticketBody) tag() string {
	bucket := -1
	if b.Ahead != nil {
		bucket = bits.Len64(uint64(*b.Ahead))
	}
	tag := append(make([]byte, 0, 64), '"')
	tag = append(tag, b.Status...)
	tag = strconv.AppendInt(append(tag, '-'), b.UpdatedAt.UnixMilli(), 16)
	tag = strconv.AppendInt(append(tag, '-'), int64(bucket), 10)
	return string(append(tag, '"'))
}
