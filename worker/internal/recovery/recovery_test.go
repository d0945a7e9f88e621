package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

// world is the three stores, as a test wants them. It notes what is done to them.
type world struct {
	server     Server
	locked     bool
	entries    []sale.Entry
	missing    int
	announced  []sale.Entry
	live       int64 // epoch of Redis
	dead       bool  // Redis has that epoch, and is another process than the one it was live in
	fenced     bool  // Redis is about to load that epoch
	older      map[int64][]sale.Ticket
	undecided  []string
	acked      uint64
	loads      bool // the first list of entries is followed by a load's
	missingErr error
	redisErr   error
	ticketErr  error  // of the last ticket
	answers    string // the sale that redisErr is not for
	tickets    []sale.Ticket
	moved      []sale.Adjustment
	listed     []string
	listRev    int64
	handOvers  []sale.HandOver
	paymentErr error
	events     []string // that were acknowledged
	noEvents   int      // of them, that Postgres lacks
	noMoves    int      // adjustments that Postgres lacks
	did        []string
}

func (w *world) note(format string, args ...any) { w.did = append(w.did, fmt.Sprintf(format, args...)) }

func (w *world) Server(context.Context) (Server, error) { return w.server, nil }

func (w *world) NoteServer(_ context.Context, s Server) error {
	w.note("%s", s.State)
	w.server = s
	return nil
}

func (w *world) Lock(context.Context) (func(), bool, error) { return func() {}, !w.locked, nil }

type truth struct{ *world }

func (t truth) Entries(context.Context) ([]sale.Entry, error) {
	entries := slices.Clone(t.entries)
	if t.loads {
		t.entries[0].Epoch = t.live
	}
	return entries, nil
}

func (w *world) Missing(_ context.Context, tickets []sale.Ticket) (int, error) {
	w.note("compare %d", len(tickets))
	return w.missing, w.missingErr
}

func (w *world) Undecided(_ context.Context, rids []string) ([]string, error) {
	w.note("acknowledged %s", strings.Join(rids, " "))
	return w.undecided, nil
}

func (w *world) OlderEpochs(_ context.Context, _ string, epoch int64) ([]int64, error) {
	var older []int64
	for e := epoch - 1; e > 0; e-- {
		if len(w.ticketsOf(e)) > 0 {
			older = append(older, e)
		}
	}
	return older, nil
}

func (w *world) ticketsOf(epoch int64) []sale.Ticket {
	if epoch == w.live && !w.fenced {
		return w.tickets
	}
	return w.older[epoch]
}

func (w *world) Adopt(_ context.Context, known sale.Entry, live int64) (sale.Entry, error) {
	w.note("adopt %s %d %d", known.ID, known.Epoch, live)
	known.Epoch = max(known.Epoch, live)
	return known, nil
}

func (w *world) RestoreAllowList(_ context.Context, _ string, users []string, rev, newest int64) (bool, error) {
	w.note("list %s of %d, newest %d", strings.Join(users, " "), rev, newest)
	return rev < newest, nil
}

func (w *world) AllowList(_ context.Context, _ string, epoch int64) ([]string, int64, error) {
	if epoch != w.live {
		return nil, 0, nil
	}
	return w.listed, w.listRev, nil
}

func (w *world) Adjusted(context.Context, string, int64) ([]sale.Adjustment, error) {
	return w.moved, nil
}

func (w *world) RestoreAdjusted(_ context.Context, _ string, adjusted []sale.Adjustment) (int64, error) {
	w.note("adjust %d", len(adjusted))
	return 0, nil
}

func (w *world) RestoreClosed(_ context.Context, _ sale.Entry, tickets []sale.Ticket) (int64, error) {
	var rids []string
	for _, t := range tickets {
		rids = append(rids, t.RID)
	}
	w.note("close %s", strings.Join(rids, " "))
	return int64(len(tickets)), nil
}

func (w *world) Order(_ context.Context, h sale.HandOver, sequences []uint64) (int, int, error) {
	var rids []string
	for i, r := range h.Reservations {
		rids = append(rids, fmt.Sprintf("%s@%d", r.RID, sequences[i]))
	}
	w.note("order %d %s", h.Epoch, strings.Join(rids, " "))
	return len(rids), 0, nil
}

func (w *world) KeepPaid(_ context.Context, rids []string) (int64, error) {
	w.note("keep paid %s", strings.Join(rids, " "))
	return 0, nil
}

func (w *world) RequestRebuild(_ context.Context, saleID string, at, above int64) (sale.Entry, bool, error) {
	w.note("rebuild %s %d %d", saleID, at, above)
	return sale.Entry{}, true, nil
}

func (w *world) Snapshot(_ context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	s := sale.Snapshot{SaleID: saleID, Epoch: w.live}
	switch {
	case w.redisErr != nil && saleID != w.answers:
		return sale.Snapshot{}, sale.HandOff{}, w.redisErr
	case epoch != w.live || w.dead || w.fenced:
		return s, sale.HandOff{}, sale.ErrStale
	}
	return s, sale.HandOff{}, nil
}

func (w *world) EachTicket(_ context.Context, _ string, epoch int64, visit func(sale.Ticket) error) error {
	for _, t := range w.ticketsOf(epoch) {
		if err := visit(t); err != nil {
			return err
		}
	}
	return w.ticketErr
}

type queue struct{ *world }

func (q queue) Entries(context.Context) ([]sale.Entry, error) { return q.announced, nil }

func (q queue) HandOvers(_ context.Context, _ string, visit func(uint64, sale.HandOver, error) error) error {
	for i, h := range q.handOvers {
		if err := visit(uint64(i+1), h, nil); err != nil {
			return err
		}
	}
	return nil
}

func (q queue) AcknowledgedUpTo(context.Context, string) (uint64, error) { return q.acked, nil }

func (w *world) Acknowledged(context.Context, int) ([]string, error) { return w.events, nil }

func (w *world) MissingPayments(context.Context, []string) (int, error) { return w.noEvents, nil }

func (w *world) MissingAdjusted(context.Context, []sale.Adjustment) (int, error) {
	return w.noMoves, nil
}

func (w *world) Keep(context.Context) (int, error) {
	w.note("payments")
	return 0, w.paymentErr
}

func (w *world) Apply(context.Context) error {
	w.note("apply")
	return nil
}

func (w *world) RestoreRefunded(_ context.Context, _ sale.Entry, t sale.Ticket, replaced []string, back bool) (int64, int, error) {
	w.note("refunded %s %v %t", t.RID, replaced, back)
	return 1, 0, nil
}

func entry(epoch, rev int64) sale.Entry {
	return sale.Entry{Sale: sale.Sale{ID: "phone", PriceMinor: 100, Currency: "CNY"}, Epoch: epoch, Rev: rev}
}

func ticket(rid string, rank int64, status sale.Status, reason sale.Reason) sale.Ticket {
	return sale.Ticket{Reservation: sale.Reservation{RID: rid, Rank: rank}, Status: status, Reason: reason}
}

func (w *world) recovery() *Recovery {
	return New(truth{w}, w, queue{w}, w, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
}

func same(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.did); diff != "" {
		t.Error(diff)
	}
}

func TestLook_ServerThatHasEverythingIsCurrent(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(2, 3)}, live: 2,
		tickets: []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, ""), ticket("b", 2, sale.StatusQueued, "")}}
	r := w.recovery()
	for range 2 { // the second look finds it noted
		if err := r.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	same(t, w, "compare 1", "current")
}

func TestLook_LeavesItToWhoHasTheLock(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, locked: true}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w)
}

func TestCompare_SeesWhatPostgresLacks(t *testing.T) {
	t.Parallel()
	one := []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, "")}
	for name, tc := range map[string]struct {
		world  world
		behind bool
	}{
		"nothing":                      {world{entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(2, 3)}, live: 2}, false},
		"a newer catalogue":            {world{entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(2, 4)}, live: 2}, true},
		"a sale that is not there":     {world{announced: []sale.Entry{entry(1, 1)}, live: 1}, true},
		"Redis at a later epoch":       {world{entries: []sale.Entry{entry(2, 3)}, live: 3}, true},
		"payment events":               {world{entries: []sale.Entry{entry(2, 3)}, live: 2, events: []string{"e"}, noEvents: 1}, true},
		"payment events that it has":   {world{entries: []sale.Entry{entry(2, 3)}, live: 2, events: []string{"e"}}, false},
		"units that were added":        {world{entries: []sale.Entry{entry(2, 3)}, live: 2, noMoves: 1}, true},
		"tickets":                      {world{entries: []sale.Entry{entry(2, 3)}, live: 2, missing: 1, tickets: one}, true},
		"Redis has lost it, who knows": {world{entries: []sale.Entry{entry(2, 3)}, live: 0}, false},
		"tickets of a restarted Redis": {world{entries: []sale.Entry{entry(2, 3)}, live: 2, dead: true, missing: 1, tickets: one}, true},
		"tickets of an epoch before":   {world{entries: []sale.Entry{entry(2, 3)}, live: 1, missing: 1, tickets: one}, true},
		"tickets behind a fence":       {world{entries: []sale.Entry{entry(2, 3)}, live: 2, fenced: true, missing: 1, older: map[int64][]sale.Ticket{1: one}}, true},
		"acknowledged hand-overs": {world{entries: []sale.Entry{entry(2, 3)}, undecided: []string{"b"}, acked: 2,
			handOvers: []sale.HandOver{{Reservations: []sale.Reservation{{RID: "a"}}}, {Reservations: []sale.Reservation{{RID: "b"}}}}}, true},
		"a sale that was never loaded":   {world{entries: []sale.Entry{entry(0, 1)}, missing: 1}, false},
		"an entry that is not announced": {world{entries: []sale.Entry{entry(2, 5)}, announced: []sale.Entry{entry(2, 4)}, live: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, err := tc.world.recovery().compare(t.Context())
			if err != nil || (why != "") != tc.behind {
				t.Errorf("behind because %q, %v", why, err)
			}
		})
	}
}

func TestRecover_TakesTheAllowListFromRedisAndTheNumberFromWhoeverIsFurther(t *testing.T) {
	t.Parallel()
	older, newer := entry(2, 3), entry(2, 4)
	newer.Eligibility.HasAllowList, newer.AllowRev = true, 7
	for name, tc := range map[string]struct {
		world world
		want  string
	}{
		"redis has it":            {world{live: 2, listed: []string{"ann"}, listRev: 7}, "list ann of 7, newest 7"},
		"redis has an older one":  {world{live: 2, listed: []string{"ann"}, listRev: 6}, "list ann of 6, newest 7"},
		"redis has none":          {world{live: 2}, "list  of -1, newest 7"},
		"redis was started again": {world{live: 2, dead: true, listed: []string{"ann"}, listRev: 7}, "list ann of 7, newest 7"},
		"a recovery that goes on": {world{live: 2, announced: []sale.Entry{newer}, entries: []sale.Entry{{Sale: newer.Sale, Epoch: 2, Rev: 5}}, listRev: 7, listed: []string{"ann"}}, "list ann of 7, newest 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &tc.world
			if w.announced == nil {
				w.entries, w.announced = []sale.Entry{older}, []sale.Entry{newer}
			}
			if err := w.recovery().recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(w.did, tc.want) {
				t.Errorf("did %q, want %q", w.did, tc.want)
			}
		})
	}
}

func TestCompare_BearsWithAShardThatStaysAway(t *testing.T) {
	t.Parallel()
	other := entry(2, 3)
	other.ID = "pear"
	w := &world{entries: []sale.Entry{entry(2, 3), other}, live: 2, redisErr: errors.New("gone"), answers: "pear"}
	r := w.recovery()
	if _, err := r.compare(t.Context()); err == nil {
		t.Error("compared with a shard that does not answer")
	}
	r.failing = time.Now().Add(-patience)
	if why, err := r.compare(t.Context()); err != nil || why != "" {
		t.Errorf("after its patience: %q, %v", why, err)
	}
	if !r.failing.IsZero() {
		t.Error("the next server would not be waited for")
	}
}

func TestCompare_ReadsTheTicketsOfASaleOnceThoughAnotherIsAway(t *testing.T) {
	t.Parallel()
	other := entry(2, 3)
	other.ID = "pear"
	w := &world{entries: []sale.Entry{other, entry(2, 3)}, live: 2, redisErr: errors.New("gone"), answers: "pear",
		tickets: []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, "")}}
	r := w.recovery()
	for range 2 {
		if _, err := r.compare(t.Context()); err == nil {
			t.Error("compared with a shard that does not answer")
		}
	}
	same(t, w, "compare 1")
	w.redisErr = nil
	if why, err := r.compare(t.Context()); why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	same(t, w, "compare 1", "compare 1")
}

func TestCompare_DoesNotBearWithPostgres(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, missingErr: errors.New("slow"),
		tickets: []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, "")}}
	r := w.recovery()
	r.failing = time.Now().Add(-patience)
	if _, err := r.compare(t.Context()); !errors.Is(err, w.missingErr) {
		t.Errorf("believed unseen: %v", err)
	}
}

func TestCompare_WaitsForARedisThatAnswersForNoSale(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, redisErr: errors.New("loading")}
	r := w.recovery()
	r.failing = time.Now().Add(-patience)
	for range 2 {
		if _, err := r.compare(t.Context()); err == nil {
			t.Error("current, though nothing could be compared")
		}
	}
}

func TestCompare_LooksAtEveryTicketThatHasAnOutcome(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, dead: true}
	for i := range 2*compared + 1 {
		w.tickets = append(w.tickets, ticket(fmt.Sprint(i), 1, sale.StatusConfirmed, ""), ticket(fmt.Sprint("q", i), 1, sale.StatusQueued, ""))
	}
	if why, err := w.recovery().compare(t.Context()); why != "" || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	same(t, w, fmt.Sprint("compare ", compared), fmt.Sprint("compare ", compared), "compare 1")
	w.missing = 3
	if why, err := w.recovery().compare(t.Context()); why == "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

func TestCompare_LoadThatBeganMeanwhileIsNothingThatIsMissing(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 3, loads: true}
	if why, err := w.recovery().compare(t.Context()); why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

func TestRecover_FreesUnitsBeforeItTakesThem(t *testing.T) {
	t.Parallel()
	w := &world{
		entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(3, 5)}, live: 3, missing: 1,
		tickets: []sale.Ticket{
			ticket("late", 5, sale.StatusPaid, ""), ticket("first", 1, sale.StatusConfirmed, ""), ticket("gone", 2, sale.StatusExpired, ""),
			ticket("twin", 4, sale.StatusRejected, sale.ReasonDuplicate), ticket("back", 3, sale.StatusRefunded, ""),
			ticket("none", 6, sale.StatusRejected, sale.ReasonSurplus), ticket("new", 7, sale.StatusQueued, ""),
		},
		moved: []sale.Adjustment{{ID: "more", Delta: 3}},
		handOvers: []sale.HandOver{
			{Epoch: 2, PriceMinor: 100, Reservations: []sale.Reservation{{RID: "old"}}},
			{Epoch: 3, PriceMinor: 100, Reservations: []sale.Reservation{{RID: "first"}, {RID: "gone"}}},
			{Epoch: 3, PriceMinor: 100, Reservations: []sale.Reservation{{RID: "back"}, {RID: "late"}}},
		},
	}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "behind", "payments", "adopt phone 3 3", "close gone none", "refunded back [] true", "adjust 1", "refunded back [] false",
		"order 3 first@0 late@0 new@0", "close twin", "order 2 old@1", "order 3 first@2 gone@2 back@3 late@3", "apply", "keep paid late", "rebuild phone 3 3", "current")
}

func TestRecover_WithoutRedisReplaysTheStream(t *testing.T) {
	t.Parallel()
	w := &world{server: Server{State: Behind}, entries: []sale.Entry{entry(2, 3)}, live: 0,
		tickets:   []sale.Ticket{ticket("a", 1, sale.StatusExpired, "")}, // not left
		handOvers: []sale.HandOver{{Epoch: 2, PriceMinor: 100, Reservations: []sale.Reservation{{RID: "a"}}}}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "payments", "adopt phone 2 0", "order 2 a@1", "apply", "rebuild phone 2 2", "current")
}

// A rebuild is under way: Redis is live at no epoch, and still has what it had.
func TestRecover_FencedSaleIsKnownByTheTicketsThatAreLeft(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(3, 4)}, live: 3, fenced: true,
		older:     map[int64][]sale.Ticket{2: {ticket("gone", 1, sale.StatusExpired, ""), ticket("a", 2, sale.StatusConfirmed, "")}},
		moved:     []sale.Adjustment{{ID: "more", Delta: 3}},
		handOvers: []sale.HandOver{{Epoch: 2, PriceMinor: 100, Reservations: []sale.Reservation{{RID: "gone"}, {RID: "a"}}}}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "behind", "payments", "adopt phone 3 0", "close gone", "adjust 1", "order 3 a@0", "order 2 gone@1 a@1",
		"apply", "rebuild phone 3 3", "current")
}

func TestRecover_ClosedTicketsAreTrueAtAnyAge(t *testing.T) {
	t.Parallel()
	w := &world{server: Server{State: Behind}, entries: []sale.Entry{entry(4, 3)}, live: 4, dead: true,
		tickets: []sale.Ticket{ticket("new", 4, sale.StatusConfirmed, ""), ticket("gone", 1, sale.StatusConfirmed, ""), ticket("shut", 2, sale.StatusCancelled, "")},
		older: map[int64][]sale.Ticket{
			3: {ticket("gone", 1, sale.StatusExpired, ""), ticket("shut", 2, sale.StatusConfirmed, ""), ticket("a", 3, sale.StatusConfirmed, "")},
			1: {ticket("gone", 1, sale.StatusExpired, ""), ticket("a", 3, sale.StatusPaid, "")},
		}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "payments", "adopt phone 4 0", "close shut gone", "order 4 gone@0 a@0 new@0", "apply", "rebuild phone 4 4", "current")
}

// Nobody but Redis knows the epoch of the load that has fenced it.
func TestRecover_TakesOverTheEpochThatRedisKnows(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 3, fenced: true,
		older: map[int64][]sale.Ticket{2: {ticket("a", 2, sale.StatusConfirmed, "")}}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "behind", "payments", "adopt phone 3 0", "order 3 a@0", "apply", "rebuild phone 3 3", "current")
}

// A rebuild is announced, and Redis not yet fenced.
func TestRecover_AnnouncedRebuildLeavesRedisLiveBelowIt(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, announced: []sale.Entry{entry(3, 4)}, live: 2,
		tickets: []sale.Ticket{ticket("a", 2, sale.StatusConfirmed, "")}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "behind", "payments", "adopt phone 3 2", "order 3 a@0", "apply", "rebuild phone 3 3", "current")
}

func TestCompare_AsksForTheLastThatWereAcknowledged(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, acked: 9}
	for i := range 10 {
		h := sale.HandOver{Epoch: 2}
		for j := range latest {
			h.Reservations = append(h.Reservations, sale.Reservation{RID: fmt.Sprint(i*latest + j)})
		}
		w.handOvers = append(w.handOvers, h)
	}
	if why, err := w.recovery().compare(t.Context()); err != nil || why != "" {
		t.Fatalf("behind because %q, %v", why, err)
	}
	rids := strings.Fields(w.did[0])[1:]
	if len(rids) != latest || rids[0] != fmt.Sprint(8*latest) || rids[latest-1] != fmt.Sprint(9*latest-1) {
		t.Errorf("%d from %s to %s", len(rids), rids[0], rids[len(rids)-1])
	}
}

func TestRecover_BrokenOffStaysBehind(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, missing: 1, paymentErr: errors.New("gone"),
		tickets: []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, "")}}
	r := w.recovery()
	if err := r.look(t.Context()); err == nil || w.server.State != Behind {
		t.Fatalf("%v, %s", err, w.server.State)
	}
	w.paymentErr, w.missing = nil, 0 // what moved last may be back already
	if err := r.look(t.Context()); err != nil || w.server.State != Current {
		t.Fatalf("%v, %s", err, w.server.State)
	}
	if n := len(slices.DeleteFunc(w.did, func(s string) bool { return s != "payments" })); n != 2 {
		t.Errorf("payments were replayed %d times", n)
	}
}

func TestRecover_RestartedRedisStillHasTickets(t *testing.T) {
	t.Parallel()
	w := &world{entries: []sale.Entry{entry(2, 3)}, live: 2, dead: true, missing: 1,
		tickets: []sale.Ticket{ticket("a", 1, sale.StatusConfirmed, ""), ticket("b", 2, sale.StatusExpired, "")}}
	if err := w.recovery().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, w, "compare 2", "behind", "payments", "adopt phone 2 0", "close b", "order 2 a@0", "apply", "rebuild phone 2 2", "current")
}

// What is missing is known to be missing: nobody works with Postgres before all of it is back.
func TestRecover_WaitsForASaleThatCannotBeReadAndSaysWhich(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*world, error){
		"a silent shard":       func(w *world, err error) { w.redisErr, w.answers = err, "pear" },
		"an unreadable ticket": func(w *world, err error) { w.ticketErr = err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pear := entry(2, 3)
				pear.ID = "pear"
				w := &world{server: Server{State: Behind}, entries: []sale.Entry{entry(2, 3), pear}, live: 2}
				fault(w, errors.New("nothing to read"))
				r := w.recovery()
				var log bytes.Buffer
				r.log = slog.New(slog.NewTextHandler(&log, nil))
				away, cancel := context.WithTimeout(t.Context(), 2*patience)
				defer cancel()
				r.Run(away)
				if w.server.State != Behind || slices.Contains(w.did, "apply") || slices.ContainsFunc(w.did, func(did string) bool { return strings.HasPrefix(did, "rebuild") }) {
					t.Errorf("worked with, though a sale is not back: %q", w.did)
				}
				if said := log.String(); !strings.Contains(said, "level=ERROR") || !regexp.MustCompile(`sale=(phone|pear) .*nothing to read`).MatchString(said) {
					t.Errorf("who waits for what is not told: %s", said)
				}
				w.redisErr, w.ticketErr = nil, nil
				again, cancel := context.WithTimeout(t.Context(), 2*lookEvery)
				defer cancel()
				r.Run(again)
				if w.server.State != Current {
					t.Errorf("not brought back once it can be: %q", w.did)
				}
			})
		})
	}
}
