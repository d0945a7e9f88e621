package redisstock

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"sluice/shared/sale"
)

// machine drives the scripts beside the reference model with the same calls,
// lost replies and retries included, and compares every answer.
type machine struct {
	t      *rapid.T
	client *Client
	sale   sale.Sale
	epoch  int64
	model  *sale.Model
	rids   []string
	calls  []sale.Attempt // everything ever attempted, for retries

	adjustments []sale.Adjustment // every one ever made, for retries
}

func (m *machine) reserve(attempts []sale.Attempt) {
	_, got, err := m.client.Reserve(m.t.Context(), m.sale.ID, m.epoch, attempts)
	m.must(err)
	m.same("reserve", got, m.model.Reserve(time.Now(), attempts))
}

// Reserve takes a batch in, attempts that were made before among them; half of the time the reply is lost and it is repeated.
func (m *machine) Reserve(t *rapid.T) {
	m.t = t
	batch := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sale.Attempt {
		return sale.Attempt{RID: newRID(),
			UserID: rapid.SampledFrom([]string{"ada", "bob", "cy#1", "d\"e"}).Draw(t, "user"),
			Key:    rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(t, "key")}
	}), 1, 4).Draw(t, "batch")
	for _, a := range batch {
		m.rids = append(m.rids, a.RID)
	}
	m.calls = append(m.calls, batch...)
	batch = append(batch, rapid.SliceOfN(rapid.SampledFrom(m.calls), 0, 2).Draw(t, "again")...)
	m.reserve(batch)
	if rapid.Bool().Draw(t, "reply lost") {
		m.reserve(batch)
	}
}

// Retry repeats any attempt ever made, under its rid.
func (m *machine) Retry(t *rapid.T) {
	if m.t = t; len(m.calls) == 0 {
		t.Skip("nothing to retry")
	}
	m.reserve([]sale.Attempt{rapid.SampledFrom(m.calls).Draw(t, "attempt")})
}

// ReserveLate takes the place of any ticket there ever was, half of the time twice.
func (m *machine) ReserveLate(t *rapid.T) {
	if m.t = t; len(m.calls) == 0 {
		t.Skip("nobody has bought")
	}
	a := rapid.SampledFrom(m.calls).Draw(t, "order")
	late := sale.LateAttempt(sale.Order{Reservation: sale.Reservation{RID: a.RID, UserID: a.UserID}})
	if !slices.Contains(m.rids, late.RID) {
		m.rids = append(m.rids, late.RID)
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		_, got, err := m.client.ReserveLate(t.Context(), m.sale.ID, m.epoch, late)
		m.must(err)
		m.same("reserve late", got, m.model.ReserveLate(time.Now(), late))
	}
}

func (m *machine) HandedOver(t *rapid.T) {
	m.t = t
	rid := m.anyRID(t)
	m.must(m.client.HandedOver(t.Context(), m.sale.ID, m.epoch, []string{rid}))
	m.model.HandedOver([]string{rid})
}

func (m *machine) Settle(t *rapid.T) {
	m.t = t
	s := sale.Settlement{RID: m.anyRID(t), Status: rapid.SampledFrom([]sale.Status{sale.StatusConfirmed, sale.StatusPaid}).Draw(t, "status")}
	_, got, err := m.client.Settle(t.Context(), m.sale.ID, m.epoch, []sale.Settlement{s, s})
	m.must(err)
	m.same("settle", got, m.model.Settle(time.Now(), []sale.Settlement{s, s}))
}

func (m *machine) Release(t *rapid.T) {
	m.t = t
	status := rapid.SampledFrom([]sale.Status{sale.StatusExpired, sale.StatusCancelled, sale.StatusRefunded, sale.StatusRejected}).Draw(t, "status")
	r := sale.Release{RID: m.anyRID(t), Status: status, Give: int64(rapid.IntRange(0, 1).Draw(t, "give"))}
	if status == sale.StatusRejected && rapid.Bool().Draw(t, "duplicate") {
		r.Reason, r.Give, r.Holder = sale.ReasonDuplicate, 0, m.anyRID(t)
	}
	_, got, err := m.client.Release(t.Context(), m.sale.ID, m.epoch, []sale.Release{r, r})
	m.must(err)
	m.same("release", got, m.model.Release(time.Now(), []sale.Release{r, r}))
}

// Adjust brings new adjustments and old ones once more; half of the time the reply is lost.
func (m *machine) Adjust(t *rapid.T) {
	m.t = t
	for range rapid.IntRange(1, 2).Draw(t, "new ones") {
		delta := rapid.SampledFrom([]int64{-3, -2, -1, 1, 2, 3}).Draw(t, "delta")
		m.adjustments = append(m.adjustments, sale.Adjustment{ID: newRID(), SaleID: m.sale.ID, Delta: delta})
	}
	batch := append(rapid.SliceOfN(rapid.SampledFrom(m.adjustments), 0, 2).Draw(t, "again"), m.adjustments[len(m.adjustments)-1])
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		_, got, err := m.client.Adjust(t.Context(), m.sale.ID, m.epoch, batch)
		m.must(err)
		m.same("adjust", got, m.model.Adjust(batch))
	}
}

// Rebuild loads the next epoch, as of what Postgres would say: queued reservations were
// ordered, or never handed over and are lost. A page is loaded again when its reply was.
func (m *machine) Rebuild(t *rapid.T) {
	m.t = t
	tickets, lost := m.rows(t)
	before := m.model.Snapshot()
	live := Live{Entry: entry(m.sale), Total: before.Total, Stock: before.Stock + lost, Given: before.Given}
	live.Entry.Epoch = m.epoch + 1
	live.Accepted = live.Total - live.Stock + live.Given
	for _, ticket := range tickets {
		live.Rank = max(live.Rank, ticket.Rank)
		if !ticket.Status.Closed() && ticket.Status != sale.StatusPaid {
			live.Unpaid++
		}
	}
	live.Served = live.Rank
	var adjusted []sale.Adjustment
	for _, a := range m.adjustments {
		if m.model.Adjusted(a.ID) != 0 {
			adjusted = append(adjusted, a)
		}
	}
	ctx, id, epoch := t.Context(), m.sale.ID, live.Entry.Epoch
	m.must(m.client.Fence(ctx, id, epoch, "next"))
	m.must(m.client.LoadAdjusted(ctx, id, epoch, "next", adjusted))
	for page := range slices.Chunk(tickets, 3) {
		m.must(m.client.LoadTickets(ctx, id, epoch, "next", page))
		if rapid.Bool().Draw(t, "reply lost") {
			m.must(m.client.LoadTickets(ctx, id, epoch, "next", page))
		}
	}
	m.must(m.client.Flip(ctx, "next", live))
	m.must(m.client.DropOlderEpochs(ctx, id, epoch))
	m.model.Load(live, tickets, adjusted)
	m.epoch = epoch
}

// rows are the tickets as a count reads them, in order of rank, and how many units come
// back with the reservations that are lost.
func (m *machine) rows(t *rapid.T) (tickets []LoadTicket, lost int64) {
	for _, rid := range m.rids {
		ticket, known := m.model.Ticket(rid)
		if !known {
			continue
		}
		if ticket.Status == sale.StatusQueued {
			if rapid.Bool().Draw(t, "lost") {
				lost++
				continue
			}
			ticket.Status = sale.StatusConfirmed
		}
		holds := !ticket.Status.Closed() || !m.sale.RebuyAfterRelease && ticket.Status != sale.StatusRejected
		tickets = append(tickets, LoadTicket{Ticket: ticket, HoldsSlot: holds})
	}
	slices.SortFunc(tickets, func(a, b LoadTicket) int { return int(a.Rank - b.Rank) })
	return tickets, lost
}

// Check compares the whole state after every step.
func (m *machine) Check(t *rapid.T) {
	m.t = t
	got, handOff, err := m.client.Snapshot(t.Context(), m.sale.ID, m.epoch)
	m.must(err)
	m.same("snapshot", got, m.model.Snapshot(), cmpopts.IgnoreFields(sale.Snapshot{}, "Now", "OpensAt", "ClosesAt"))
	m.same("handoff", handOff.Count, int64(m.model.HandOff()))
	if got.Stock+got.Accepted-got.Given != got.Total {
		t.Fatalf("units: stock %d + accepted %d - given %d is not %d", got.Stock, got.Accepted, got.Given, got.Total)
	}
	_, tickets, err := m.client.Tickets(t.Context(), m.sale.ID, m.epoch, m.rids)
	m.must(err)
	var waiting int64
	for i, rid := range m.rids {
		want, known := m.model.Ticket(rid)
		if known != (tickets[i] != nil) {
			t.Fatalf("ticket %s: there %v, in the model %v", rid, tickets[i] != nil, known)
		}
		if known {
			m.same("ticket", *tickets[i], want)
			if want.Status == sale.StatusQueued {
				waiting++
			}
		}
	}
	m.same("backlog", got.Rank-got.Served, waiting)
}

func (m *machine) anyRID(t *rapid.T) string {
	return rapid.SampledFrom(append(m.rids, newRID())).Draw(t, "rid")
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) same(what string, got, want any, options ...cmp.Option) {
	m.t.Helper()
	options = append(options, cmpopts.IgnoreFields(sale.Reservation{}, "AcceptedAt"), cmpopts.IgnoreFields(sale.Ticket{}, "UpdatedAt"))
	if diff := cmp.Diff(want, got, options...); diff != "" {
		m.t.Fatalf("%s: model (-) and Redis (+) differ\n%s", what, diff)
	}
}

func TestScripts_AgreeWithTheReferenceModel(t *testing.T) {
	t.Parallel()
	c := connect(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := openSale(int64(rapid.IntRange(0, 5).Draw(rt, "total")), limit(rapid.IntRange(1, 3).Draw(rt, "limit")))
		s.RebuyAfterRelease = rapid.Bool().Draw(rt, "rebuy")
		loadEmpty(t, c, s)
		m := &machine{t: rt, client: c, sale: s, epoch: 1, model: sale.NewModel(s, nil)}
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": m.Reserve, "retry": m.Retry, "handed over": m.HandedOver, "settle": m.Settle, "release": m.Release,
			"adjust": m.Adjust, "rebuild": m.Rebuild, "reserve late": m.ReserveLate, "": m.Check,
		})
	})
}
