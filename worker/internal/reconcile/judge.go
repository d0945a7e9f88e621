package reconcile

import (
	"fmt"
	"slices"
	"time"

	"sluice/shared/sale"
)

// Kinds of findings.
const (
	StockHigh      = "stock_high"       // Redis has more in stock than Postgres has free
	StockLow       = "stock_low"        // it has less, at rest
	SoldOutFlag    = "sold_out_flag"    // Redis says sold out and has stock
	TotalDiffers   = "total"            // Redis and Postgres have another total
	HeldRows       = "held_rows"        // the stock row and the orders disagree about how many hold a unit
	NotInRedis     = "not_in_redis"     // the sale is not live there
	HandOffStuck   = "handoff"          // entries that the sweeper does not get rid of
	NoOutcome      = "no_outcome"       // reservations that nobody decides any more
	ReleaseStuck   = "release"          // releases that Redis does not apply
	UnshownStuck   = "unshown"          // orders that their tickets do not show
	DeadLetterOpen = "dead_letter"      // what nobody has looked at
	SurplusNew     = "surplus_rejected" // sold by Redis and rejected by Postgres since the last run
	RefundOwed     = "refund_owed"      // payments that somebody has to give back
	PaymentStuck   = "payment"          // payment events that nobody applies
	CouponsUnread  = "coupons_unread"   // whatever is wrong with coupons is not found
	CouponRows     = "coupon_rows"      // template, orders, coupons and their events disagree
	CouponLock     = "coupon_lock"      // locks that outlive their deadline
	CouponLedger   = "coupon_ledger"    // the ledger does not bear what orders were told
)

// Kinds are all kinds of findings.
func Kinds() []string {
	return []string{StockHigh, StockLow, SoldOutFlag, TotalDiffers, HeldRows, NotInRedis, HandOffStuck, NoOutcome, ReleaseStuck, UnshownStuck, DeadLetterOpen, SurplusNew,
		RefundOwed, PaymentStuck, CouponsUnread, CouponRows, CouponLock, CouponLedger}
}

// judge says what is wrong by one look. What counts only once it has lasted is a
// finding that does not count yet: its mark tells whether it is the same as before.
// last is what the run before found out.
func judge(l look, last sale.Reconciliation, stuckAfter time.Duration) []sale.Finding {
	j := judgement{look: l, last: last, stuckAfter: stuckAfter}
	h, s := l.holdings, l.snapshot
	j.certain(HeldRows, distance(h.Held, h.Holding), "the stock row says %d units are held, %d orders hold one", h.Held, h.Holding)
	j.certain(DeadLetterOpen, h.DeadLetters, "%d dead letters are open", h.DeadLetters)
	j.certain(SurplusNew, h.Surplus-last.Surplus, "%d reservations were rejected as surplus", h.Surplus-last.Surplus)
	j.certain(RefundOwed, h.RefundsOwed, "%d refunds are owed", h.RefundsOwed)
	j.certain(PaymentStuck, h.PaymentsStuck, "%d payment events are not applied after %v", h.PaymentsStuck, paymentTakes*stuckAfter)
	j.aged(ReleaseStuck, h.Unapplied, h.OldestUnapplied, "%d releases are not applied, the oldest for %v", h.Unapplied, h.OldestUnapplied.Round(time.Second))
	j.lasting(UnshownStuck, h.Unshown, h.OldestUnshown, 1, "%d orders are not shown on their tickets, order %s for one", h.Unshown, h.OldestUnshown)
	j.judgeCoupons(l.coupons)
	if h.Entry.Rebuilding {
		return j.findings // Redis is nobody's business but the rebuild's
	}
	if !l.inRedis {
		j.lasting(NotInRedis, 1, "", 1, "Redis does not have it live at epoch %d", h.Entry.Epoch)
		return j.findings
	}
	j.lasting(TotalDiffers, distance(s.Total, h.Total), fmt.Sprint(s.Total, h.Total), 1, "the total in Redis is %d, in Postgres %d", s.Total, h.Total)
	if l.handOff.Count > 0 {
		age := s.Now.Sub(l.handOff.Oldest)
		j.aged(HandOffStuck, l.handOff.Count, age, "%d entries are in handoff, the oldest for %v", l.handOff.Count, age.Round(time.Second))
	} else if l.idle && l.still {
		j.lasting(NoOutcome, s.Rank-s.Served, fmt.Sprint(s.Rank, s.Served), lostTakes, "%d reservations have no outcome and no hand-over", s.Rank-s.Served)
	}
	if s.SoldOut && s.Stock > 0 {
		j.certain(SoldOutFlag, s.Stock, "Redis says sold out and has %d in stock", s.Stock)
	}
	switch over := s.Stock - h.Free(); {
	case !l.still || s.Total != h.Total:
		// A unit may be on its way from one store to the other.
	case over > 0:
		j.certain(StockHigh, over, "Redis has %d in stock, Postgres %d free", s.Stock, h.Free())
	case over < 0 && l.atRest():
		j.certain(StockLow, -over, "Redis has %d in stock, Postgres %d free, and nothing is under way", s.Stock, h.Free())
	}
	return j.findings
}

// lostTakes is how many times longer than other loops the one takes that looks for
// lost hand-overs.
const lostTakes = 3

// paymentTakes is the same of a payment event, which may wait for a Redis that is away,
// for a rebuild, or for the event that it overtook.
const paymentTakes = 3

type judgement struct {
	look
	last       sale.Reconciliation
	stuckAfter time.Duration
	findings   []sale.Finding
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func (j *judgement) add(kind string, amount int64, mark string, counts bool, format string, args []any) {
	if amount <= 0 {
		return
	}
	f := sale.Finding{Kind: kind, Amount: amount, Since: j.at.UTC(), Counts: counts, Mark: mark, Detail: fmt.Sprintf(format, args...)}
	if before, known := j.before(f); known {
		f.Since = before.Since
	}
	j.findings = append(j.findings, f)
}

// before is the same finding in the run before.
func (j *judgement) before(f sale.Finding) (sale.Finding, bool) {
	i := slices.IndexFunc(j.last.Findings, func(old sale.Finding) bool { return old.Kind == f.Kind && old.Mark == f.Mark && !old.Repaired })
	if i < 0 {
		return sale.Finding{}, false
	}
	return j.last.Findings[i], true
}

// certain counts at once.
func (j *judgement) certain(kind string, amount int64, format string, args ...any) {
	j.add(kind, amount, "", true, format, args)
}

// aged counts once it is older than what a loop may take.
func (j *judgement) aged(kind string, amount int64, age time.Duration, format string, args ...any) {
	j.add(kind, amount, "", age >= j.stuckAfter, format, args)
}

// lasting counts once the same has been seen for longer than what a loop may take, some
// times over.
func (j *judgement) lasting(kind string, amount int64, mark string, times int, format string, args ...any) {
	j.add(kind, amount, mark, false, format, args)
	if amount <= 0 {
		return
	}
	f := &j.findings[len(j.findings)-1]
	f.Counts = j.at.Sub(f.Since) >= time.Duration(times)*j.stuckAfter
}

// agreed keeps what two looks say alike.
func agreed(a, b []sale.Finding) []sale.Finding {
	var both []sale.Finding
	for _, f := range b {
		alike := func(o sale.Finding) bool { return o.Kind == f.Kind && o.Amount == f.Amount && o.Mark == f.Mark }
		if slices.ContainsFunc(a, alike) {
			both = append(both, f)
		}
	}
	return both
}
