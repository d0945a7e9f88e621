package ledger

import (
	"maps"
	"slices"

	"sluice/shared/sale"
)

// Postgres is the reference of Truth.
type Postgres struct {
	rules       sale.Sale
	off         off
	entry       Entry
	loading     int64 // the latest epoch that a load has begun with
	lasts       map[int64]uint64
	total, held int64

	orders      map[string]order
	releases    map[string]release
	adjustments map[string]sale.AdjustmentRow
	payments    map[string]payment
	owed        []owed
}

type order struct {
	sale.Reservation
	state, shown         sale.OrderState
	reason               sale.Reason
	holdsUnit, holdsSlot bool
	replaces             string
}

type release struct {
	sale.Release
	applied bool
	n       int // in the order of their making
}

func newPostgres(s sale.Sale, off off) *Postgres {
	return &Postgres{
		rules: s, off: off, total: s.Total, lasts: map[int64]uint64{}, orders: map[string]order{}, releases: map[string]release{},
		adjustments: map[string]sale.AdjustmentRow{}, payments: map[string]payment{},
	}
}

// Entry implements Truth.
func (p *Postgres) Entry() Entry { return p.entry }

// Order implements Truth.
func (p *Postgres) Order(b Batch) (verdicts []Verdict, refusal Refusal, last uint64) {
	last, refusal = p.place(b)
	if refusal != "" {
		return nil, refusal, last
	}
	first := make(map[string]uint64)
	for i, r := range b.Reservations {
		if b.Sequences == nil {
			first[r.RID] = 0
		} else if seq, twice := first[r.RID]; !twice || b.Sequences[i] < seq {
			first[r.RID] = b.Sequences[i]
		}
	}
	for _, r := range byRank(distinct(b.Reservations)) {
		if first[r.RID] > last {
			verdicts = append(verdicts, p.supersede(r))
		} else {
			verdicts = append(verdicts, p.decide(r))
			p.releaseSuperseded(b.Epoch, r.RID)
		}
	}
	return verdicts, "", 0
}

func distinct(reservations []sale.Reservation) (each []sale.Reservation) {
	seen := make(map[string]bool)
	for _, r := range reservations {
		if !seen[r.RID] {
			each = append(each, r)
		}
		seen[r.RID] = true
	}
	return each
}

const everything = ^uint64(0)

// place finds out up to which sequence a batch is ordered.
func (p *Postgres) place(b Batch) (last uint64, refusal Refusal) {
	if b.Epoch == p.entry.Epoch {
		return everything, ""
	}
	if b.Epoch > p.entry.Epoch || b.Sequences == nil {
		return 0, Stale
	}
	for _, replacedBy := range slices.Sorted(maps.Keys(p.lasts)) {
		last := p.lasts[replacedBy]
		switch {
		case replacedBy <= b.Epoch:
			continue
		case p.off[Supersede]:
			return everything, ""
		case p.entry.Rebuilding && replacedBy == p.entry.Epoch && slices.Max(b.Sequences) > last:
			return last, Beyond
		}
		return last, ""
	}
	if p.entry.Rebuilding {
		return everything, ""
	}
	return 0, Stale
}

func (p *Postgres) stored(rid string) (Verdict, bool) {
	o, known := p.orders[rid]
	return Verdict{RID: rid, State: o.state, Reason: o.reason}, known
}

func (p *Postgres) decide(r sale.Reservation) Verdict {
	if v, known := p.stored(r.RID); known {
		if p.off[RowsReturned] && p.held < p.total {
			p.held++
		}
		return v
	}
	o := order{Reservation: r, state: sale.OrderRejected, shown: sale.OrderRejected}
	switch holder := p.holder(place{r.UserID, r.Slot}); {
	case holder != "":
		o.reason = sale.ReasonDuplicate
		p.close(sale.Release{RID: r.RID, Status: sale.StatusRejected, Reason: o.reason, Holder: holder})
	case p.held >= p.total:
		o.reason = sale.ReasonSurplus
		p.close(sale.Release{RID: r.RID, Status: sale.StatusRejected, Reason: o.reason})
	default:
		o.state, o.shown, o.holdsUnit, o.holdsSlot = sale.OrderPending, sale.OrderPending, true, true
		p.held++
	}
	p.orders[r.RID] = o
	return Verdict{RID: r.RID, State: o.state, Reason: o.reason}
}

func (p *Postgres) holder(at place) string {
	for rid, o := range p.orders {
		if o.holdsSlot && o.UserID == at.user && o.Slot == at.slot {
			return rid
		}
	}
	return ""
}

// supersede rejects what came after the count of its epoch's load. It has no ticket there.
func (p *Postgres) supersede(r sale.Reservation) Verdict {
	if v, known := p.stored(r.RID); known {
		return v
	}
	p.orders[r.RID] = order{Reservation: r, state: sale.OrderRejected, shown: sale.OrderRejected, reason: sale.ReasonSuperseded}
	p.close(sale.Release{RID: r.RID, Status: sale.StatusRejected, Reason: sale.ReasonSuperseded})
	p.MarkApplied([]string{r.RID})
	return Verdict{RID: r.RID, State: sale.OrderRejected, Reason: sale.ReasonSuperseded}
}

// releaseSuperseded closes the ticket that the current epoch has of what was superseded:
// a late payment took its unit again, under the same rid.
func (p *Postgres) releaseSuperseded(epoch int64, rid string) {
	r, there := p.releases[rid]
	if there && epoch == p.entry.Epoch && r.Reason == sale.ReasonSuperseded && r.Give == 0 {
		r.Give, r.applied = 1, false
		p.releases[rid] = r
	}
}

// close writes a release; the first of a rid stays.
func (p *Postgres) close(r sale.Release) {
	if _, there := p.releases[r.RID]; !there {
		p.releases[r.RID] = release{Release: r, n: len(p.releases)}
	}
}

// Undecided implements Truth.
func (p *Postgres) Undecided(rids []string) []string {
	return slices.DeleteFunc(slices.Clone(rids), func(rid string) bool { _, known := p.orders[rid]; return known })
}

// Expire implements Truth. An order whose payment waits to be applied is left.
func (p *Postgres) Expire(rid string) bool {
	o := p.orders[rid]
	if p.paymentWaits(rid) || p.paymentWaits(o.replaces) {
		return false
	}
	return p.letGo(rid, sale.OrderExpired)
}

// Cancel implements Truth.
func (p *Postgres) Cancel(rid string) bool { return p.letGo(rid, sale.OrderCancelled) }

func (p *Postgres) letGo(rid string, becomes sale.OrderState) bool {
	o, there := p.orders[rid]
	if !there || o.state != sale.OrderPending && !p.off[ConditionalUpdate] {
		return false
	}
	o.state, o.shown, o.holdsUnit, o.holdsSlot = becomes, becomes, false, !p.rules.RebuyAfterRelease
	p.orders[rid] = o
	p.held--
	p.close(sale.Release{RID: rid, Status: sale.Status(becomes), Give: 1})
	return true
}

// UnappliedReleases implements Truth.
func (p *Postgres) UnappliedReleases() (pending []PendingRelease) {
	var open []release
	for _, r := range p.releases {
		if !r.applied {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b release) int { return a.n - b.n })
	for _, r := range open {
		r.Slot = sale.SlotOpens
		if p.orders[r.RID].holdsSlot {
			r.Slot = sale.SlotStays
		}
		pending = append(pending, PendingRelease{Release: r.Release, Epoch: p.entry.Epoch})
	}
	return pending
}

// MarkApplied implements Truth.
func (p *Postgres) MarkApplied(rids []string) {
	for _, rid := range rids {
		if r, there := p.releases[rid]; there {
			r.applied = true
			p.releases[rid] = r
		}
	}
}

// Unshow implements Truth.
func (p *Postgres) Unshow(rids []string) {
	for _, rid := range rids {
		if o, there := p.orders[rid]; there && o.open() {
			o.shown = ""
			p.orders[rid] = o
		}
	}
}

func (o order) open() bool { return o.state == sale.OrderPending || o.state == sale.OrderPaid }

// Unshown implements Truth.
func (p *Postgres) Unshown() (unshown []Unshown) {
	for _, rid := range slices.Sorted(maps.Keys(p.orders)) {
		if o := p.orders[rid]; o.open() && o.shown != o.state {
			unshown = append(unshown, Unshown{RID: rid, Epoch: p.entry.Epoch, State: o.state})
		}
	}
	return unshown
}

// MarkShown implements Truth.
func (p *Postgres) MarkShown(rids []string, state sale.OrderState) {
	for _, rid := range rids {
		if o := p.orders[rid]; o.state == state {
			o.shown = state
			p.orders[rid] = o
		}
	}
}
