package ledger

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

// pairTruth makes every call to Postgres and to the reference.
type pairTruth struct {
	*pair
	ref *Postgres
}

func (p *pairTruth) Entry() Entry { return p.ref.Entry() }

func (p *pairTruth) Order(b Batch) ([]Verdict, Refusal, uint64) {
	want, refusal, last := p.ref.Order(b)
	result, err := p.truth.Order(p.t.Context(), pgstore.Batch{
		SaleID: p.saleID, Epoch: b.Epoch, PriceMinor: price, Currency: currency, Reservations: b.Reservations, Sequences: b.Sequences,
	})
	var beyond *pgstore.BeyondError
	switch {
	case errors.As(err, &beyond):
		p.same("border", last, beyond.LastSeq)
		p.same("order", refusal, Beyond)
	case errors.Is(err, pgstore.ErrStaleEpoch):
		p.same("order", refusal, Stale)
	case err != nil:
		p.fault("order", err)
	default:
		p.same("order", refusal, Refusal(""))
	}
	var got []Verdict
	for _, v := range result.Verdicts {
		got = append(got, Verdict{RID: v.RID, State: v.State, Reason: v.Reason})
	}
	byRID := func(a, b Verdict) int { return cmp.Compare(a.RID, b.RID) }
	p.same("verdicts", slices.SortedFunc(slices.Values(want), byRID), slices.SortedFunc(slices.Values(got), byRID))
	return want, refusal, last
}

func (p *pairTruth) Undecided(rids []string) []string {
	want := p.ref.Undecided(rids)
	got, err := p.truth.Undecided(p.t.Context(), rids)
	p.fault("undecided", err)
	slices.Sort(got)
	p.same("undecided", slices.Sorted(slices.Values(want)), got)
	return want
}

// Expire makes the time to pay of this order alone be over.
func (p *pairTruth) Expire(rid string) bool {
	want := p.ref.Expire(rid)
	p.due(rid, `now() - interval '1 second'`)
	n, err := p.truth.Expire(p.t.Context(), p.saleID, 10)
	p.fault("expire", err)
	p.due(rid, `now() + interval '1 hour'`)
	p.same("expire", want, n == 1)
	return want
}

func (p *pairTruth) due(rid, at string) {
	_, err := p.sql.Exec(p.t.Context(), `UPDATE orders SET expires_at = `+at+` WHERE id = $1::text::uuid AND state = 'pending'`, rid)
	p.fault("make due", err)
}

func (p *pairTruth) Cancel(rid string) bool {
	user := p.ref.orders[rid].UserID
	want := p.ref.Cancel(rid)
	_, got, _, err := p.truth.Cancel(p.t.Context(), user, rid)
	p.fault("cancel", err)
	p.same("cancel", want, got)
	return want
}

const page = 1000 // rows of a read

func (p *pairTruth) UnappliedReleases() []PendingRelease {
	want := p.ref.UnappliedReleases()
	all, err := p.truth.UnappliedReleases(p.t.Context(), page, nil)
	p.fault("unapplied releases", err)
	var got []PendingRelease
	for _, r := range all {
		if r.SaleID == p.saleID {
			r.SaleID = ""
			got = append(got, PendingRelease{Release: r.Release, Epoch: r.Epoch})
		}
	}
	byRID := func(a, b PendingRelease) int { return cmp.Compare(a.RID, b.RID) }
	p.same("unapplied releases", slices.SortedFunc(slices.Values(want), byRID), slices.SortedFunc(slices.Values(got), byRID))
	return want
}

func (p *pairTruth) MarkApplied(rids []string) {
	p.ref.MarkApplied(rids)
	_, err := p.truth.MarkApplied(p.t.Context(), rids)
	p.fault("mark applied", err)
	p.changed = true
}

func (p *pairTruth) Unshow(rids []string) {
	p.ref.Unshow(rids)
	p.fault("unshow", p.truth.Unshow(p.t.Context(), rids))
	p.changed = true
}

func (p *pairTruth) Unshown() []Unshown {
	want := p.ref.Unshown()
	all, err := p.truth.Unshown(p.t.Context(), page, nil)
	p.fault("unshown", err)
	var got []Unshown
	for _, u := range all {
		if u.SaleID == p.saleID {
			got = append(got, Unshown{RID: u.RID, Epoch: u.Epoch, State: u.State})
		}
	}
	slices.SortFunc(got, func(a, b Unshown) int { return cmp.Compare(a.RID, b.RID) })
	p.same("unshown", want, got)
	return want
}

func (p *pairTruth) MarkShown(rids []string, state sale.OrderState) {
	p.ref.MarkShown(rids, state)
	p.fault("mark shown", p.truth.MarkShown(p.t.Context(), rids, state))
	p.changed = true
}

func (p *pairTruth) StorePayment(e sale.PaymentEvent) {
	p.ref.StorePayment(e)
	_, err := p.truth.StorePayments(p.t.Context(), []sale.PaymentEvent{e})
	p.fault("store payment", err)
}

func (p *pairTruth) KnownPayments() []string {
	want := p.ref.KnownPayments()
	known, _, err := p.truth.UnappliedPayments(p.t.Context(), sale.Payment{}, 100*page)
	p.fault("unapplied payments", err)
	var got []string
	for _, e := range known {
		if strings.HasPrefix(e.EventID, p.saleID+"-") {
			got = append(got, e.EventID)
		}
	}
	p.same("known payments", want, slices.Sorted(slices.Values(got)))
	return want
}

func (p *pairTruth) ApplyPayment(eventID string, late *LateUnit) Applied {
	want := p.ref.ApplyPayment(eventID, late)
	var unit *pgstore.LateUnit
	if late != nil {
		unit = &pgstore.LateUnit{Of: late.Of, Epoch: late.Epoch, Reservation: late.Reservation, Refused: late.Refused}
	}
	done, err := p.truth.ApplyPayment(p.t.Context(), eventID, unit)
	got := Applied{PaymentDecision: done.PaymentDecision, Epoch: done.Epoch, Passed: done.Passed, Stale: errors.Is(err, pgstore.ErrStaleEpoch)}
	if !got.Stale {
		p.fault("apply payment", err)
	}
	compared := Applied{PaymentDecision: want.PaymentDecision, Epoch: want.Epoch, Passed: want.Passed, Stale: want.Stale}
	if compared.Result != sale.PaymentWaits || done.Order == nil {
		compared.Epoch = done.Epoch // said of orders that still exist for it
	}
	p.same("apply payment", compared, got)
	return want
}

func (p *pairTruth) BeginAdjustment(a sale.Adjustment) (sale.AdjustmentRow, int64, bool) {
	want, epoch, ok := p.ref.BeginAdjustment(a)
	got, err := p.truth.BeginAdjustment(p.t.Context(), sale.Actor{Who: "ops"}, a)
	if err != nil && !errors.Is(err, pgstore.ErrRebuilding) && !errors.Is(err, pgstore.ErrNotLoaded) {
		p.fault("begin adjustment", err)
	}
	p.same("begin adjustment is done", ok, err == nil)
	if ok && err == nil {
		p.same("begin adjustment", []any{want.Adjustment, want.State, epoch}, []any{got.Adjustment, got.State, got.Epoch})
	}
	return want, epoch, ok
}

func (p *pairTruth) UnfinishedAdjustments() ([]sale.AdjustmentRow, int64) {
	want, epoch := p.ref.UnfinishedAdjustments()
	all, err := p.truth.UnfinishedAdjustments(p.t.Context(), page, nil)
	p.fault("unfinished adjustments", err)
	var got []sale.AdjustmentRow
	for _, a := range all {
		if a.SaleID == p.saleID {
			p.same("epoch of an adjustment", epoch, a.Epoch)
			got = append(got, a.AdjustmentRow)
		}
	}
	p.same("unfinished adjustments", want, got)
	return want, epoch
}

func (p *pairTruth) FinishAdjustment(a sale.Adjustment, epoch int64, result sale.AdjustResult) bool {
	want := p.ref.FinishAdjustment(a, epoch, result)
	row, err := p.truth.FinishAdjustment(p.t.Context(), a, epoch, result)
	if err != nil && !errors.Is(err, pgstore.ErrStaleEpoch) {
		p.fault("finish adjustment", err)
	}
	p.same("finish adjustment is done", want, err == nil)
	if want && err == nil {
		p.same("finish adjustment", p.ref.adjustments[a.ID].State, row.State)
	}
	return want
}

func (p *pairTruth) RequestRebuild() {
	p.ref.RequestRebuild()
	_, _, err := p.truth.RequestRebuild(p.t.Context(), p.saleID, 0, 0)
	p.fault("request rebuild", err)
	p.changed = true
}

func (p *pairTruth) BeginLoad(above int64) Entry {
	want := p.ref.BeginLoad(above)
	got, err := p.truth.BeginLoad(p.t.Context(), p.saleID, above)
	p.fault("begin load", err)
	p.same("begin load", want.Epoch, got.Epoch)
	return want
}

func (p *pairTruth) SetLastSequence(epoch int64, last uint64) bool {
	want := p.ref.SetLastSequence(epoch, last)
	err := p.truth.SetLastSequence(p.t.Context(), p.saleID, epoch, last)
	return p.current("set last sequence", want, err)
}

// current reports whether an epoch was the one under load.
func (p *pairTruth) current(call string, want bool, err error) bool {
	if err != nil && !errors.Is(err, pgstore.ErrStaleEpoch) {
		p.fault(call, err)
	}
	p.same(call+" is done", want, err == nil)
	return want
}

func (p *pairTruth) Count(epoch int64) (Count, bool) {
	want, ok := p.ref.Count(epoch)
	var got Count
	err := p.truth.Count(p.t.Context(), p.saleID, epoch, sale.LoadParts{
		Live:     func(live sale.Live) error { got.Live = live; return nil },
		Allow:    func([]string) error { return nil },
		Adjusted: func(page []sale.Adjustment) error { got.Adjusted = append(got.Adjusted, page...); return nil },
		Tickets:  func(page []sale.LoadTicket) error { got.Tickets = append(got.Tickets, page...); return nil },
	})
	if ok && err == nil {
		p.same("count", want, got)
	}
	return want, p.current("count", ok, err)
}

func (p *pairTruth) FinishLoad(epoch int64) (Entry, bool) {
	want, ok := p.ref.FinishLoad(epoch)
	_, err := p.truth.FinishLoad(p.t.Context(), p.saleID, epoch)
	return want, p.current("finish load", ok, err)
}
