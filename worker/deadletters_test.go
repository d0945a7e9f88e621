package main

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	"sluice/shared/evidence"
	"sluice/shared/sale"
	"sluice/worker/internal/fulfil"
)

// refuse makes the database refuse rows of these buyers, by a constraint on
// orders that holds where the condition does.
func (w *world) refuse(where string, bad []sale.Reservation) {
	w.t.Helper()
	users := make([]string, len(bad))
	for i, r := range bad {
		users[i] = "'" + r.UserID + "'"
	}
	execSQL(w.t, w.postgresURL, fmt.Sprintf(
		`ALTER TABLE orders ADD CONSTRAINT bad CHECK (user_id NOT IN (%s) OR NOT (%s)) NOT VALID`, strings.Join(users, ", "), where))
}

// count runs a query that returns one number.
func (w *world) count(query string) (n int) {
	w.t.Helper()
	conn, err := pgx.Connect(w.context(), w.postgresURL)
	w.must(err)
	defer func() { _ = conn.Close(w.context()) }()
	w.must(conn.QueryRow(w.context(), query).Scan(&n))
	return n
}

// wantSettled waits until the good are confirmed, the bad rejected as invalid
// and their units back, then audits the sale.
func (w *world) wantSettled(good, bad []sale.Reservation) {
	w.t.Helper()
	w.eventuallyAll(sale.StatusConfirmed, good)
	w.eventuallyAll(sale.StatusRejected, bad)
	w.eventuallyAcknowledged()
	w.eventually("every release is marked applied", func() bool {
		pending, err := w.store.UnappliedReleases(w.context(), 1000, nil)
		return err == nil && len(pending) == 0
	})
	want := make([]string, len(bad))
	for i, r := range bad {
		want[i] = r.RID
	}
	rows, err := w.store.AuditSale(w.context(), w.entry.ID)
	w.must(err)
	var released []string
	for _, r := range rows.Releases {
		if r.Reason == sale.ReasonInvalid && r.Give == 1 {
			released = append(released, r.RID)
		}
	}
	slices.Sort(want)
	slices.Sort(released)
	if !slices.Equal(want, released) {
		w.t.Errorf("%d released as invalid, want %d", len(released), len(want))
	}
	if n := w.count(`SELECT count(*) FROM dead_letters WHERE rid IS NOT NULL`); n != len(bad) {
		w.t.Errorf("%d dead letters of reservations, want %d", n, len(bad))
	}
	w.audit()
}

// audit holds all three stores against the invariants, at rest.
func (w *world) audit() {
	w.t.Helper()
	stores := evidence.Stores{Postgres: w.store, Redis: w.stock, Stream: w.queue}
	_, verdict, err := stores.Audit(w.context(), w.entry.ID, nil, patience/3)
	w.must(err)
	if !verdict.Pass || !verdict.AtRest {
		w.t.Errorf("audit: at rest %v, %+v", verdict.AtRest, verdict.Violations)
	}
}

func TestWorker_ABadReservationDoesNotSinkTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sale.MaxHandOver)
	var invalid atomic.Int64
	stop, err := w.queue.SubscribeResults(func(_ string, results []sale.Result) {
		for _, r := range results {
			if r.Status == sale.StatusRejected && r.Reason == sale.ReasonInvalid {
				invalid.Add(1)
			}
		}
	})
	w.must(err)
	defer stop()
	reserved := w.reserve(sale.MaxHandOver) // all there is
	bad, good := reserved[100:101], slices.Delete(slices.Clone(reserved), 100, 101)
	w.refuse(`state <> 'rejected'`, bad)
	p := w.startWorker("")
	w.handOver(reserved)
	w.wantSettled(good, bad)
	w.eventually("the rejection is told", func() bool { return invalid.Load() == 1 })
	_, tickets, err := w.stock.Tickets(w.context(), w.entry.ID, w.entry.Epoch, []string{bad[0].RID})
	w.must(err)
	if tickets[0].Reason != sale.ReasonInvalid {
		t.Errorf("ticket %+v", tickets[0])
	}
	if n := w.count(`SELECT count(*) FROM orders WHERE reason = 'invalid'`); n != 1 {
		t.Errorf("%d rows rejected as invalid", n)
	}
	again := w.reserve(1) // the unit is sold to somebody else
	w.handOver(again)
	w.wantSettled(append(good, again...), bad)
	w.stopped(p)
}

func TestWorker_BadReservationsOfAllKinds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		where string
		bad   func([]sale.Reservation) []sale.Reservation
		rows  int // rejected ones, of each bad one
	}{
		"several": {`state <> 'rejected'`, func(all []sale.Reservation) []sale.Reservation {
			return slices.Concat(all[:2], all[30:31], all[59:])
		}, 1},
		"all":                {`state <> 'rejected'`, func(all []sale.Reservation) []sale.Reservation { return all }, 1},
		"without rows":       {`true`, func(all []sale.Reservation) []sale.Reservation { return all[10:13] }, 0},
		"all, and no row is": {`true`, func(all []sale.Reservation) []sale.Reservation { return all }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 100)
			reserved := w.reserve(60)
			bad := test.bad(reserved)
			good := slices.DeleteFunc(slices.Clone(reserved), func(r sale.Reservation) bool { return slices.Contains(bad, r) })
			w.refuse(test.where, bad)
			w.handOver(reserved)
			w.handOver(reserved[20:]) // comes again, in the same batch or the next
			p := w.startWorker("")
			w.wantSettled(good, bad)
			w.handOver(reserved)
			w.wantSettled(good, bad)
			if n := w.count(`SELECT count(*) FROM orders WHERE state = 'rejected'`); n != test.rows*len(bad) {
				t.Errorf("%d rejected rows", n)
			}
			w.stopped(p)
		})
	}
}

func TestWorker_BadDuplicateAndKnownInOneBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	reserved := w.reserve(5)
	known, holder, bad := reserved[0], reserved[1], reserved[2]
	p := w.startWorker("")
	w.handOver(reserved[:2])
	w.eventuallyAll(sale.StatusConfirmed, reserved[:2])
	duplicate := holder // as after a Redis that forgot it: another rid in the same slot
	duplicate.RID, duplicate.Rank = bad.RID[:35]+"0", 99
	if duplicate.RID == bad.RID {
		duplicate.RID = bad.RID[:35] + "1"
	}
	w.refuse(`state <> 'rejected'`, []sale.Reservation{bad})
	w.handOver([]sale.Reservation{known, duplicate, bad, reserved[3], bad, known, reserved[4]})
	good := slices.Concat(reserved[:2], reserved[3:])
	w.eventuallyAll(sale.StatusConfirmed, good)
	w.eventuallyAll(sale.StatusRejected, []sale.Reservation{bad})
	w.eventuallyAcknowledged()
	for query, want := range map[string]int{
		`SELECT count(*) FROM releases WHERE reason = 'duplicate' AND give = 0`: 1,
		`SELECT count(*) FROM releases WHERE reason = 'invalid' AND give = 1`:   1,
		`SELECT count(*) FROM orders WHERE state = 'pending'`:                   4,
		`SELECT held FROM sale_stock`:                                           4,
		`SELECT count(*) FROM dead_letters`:                                     1,
	} {
		if got := w.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	w.stopped(p)
}

func TestWorker_KilledWhileHalvingIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	for _, failpoint := range []string{
		fulfil.BeforeCommit + "=kill@3", fulfil.BeforeCommit + "=kill@6", fulfil.AfterCommit + "=kill@1", fulfil.AfterCommit + "=kill@2",
		fulfil.AfterCommit + "=kill@3", fulfil.BeforeAck + "=kill@1",
	} {
		t.Run(failpoint, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 32)
			reserved := w.reserve(32)
			bad, good := reserved[20:21], slices.Delete(slices.Clone(reserved), 20, 21)
			w.refuse(`true`, bad)
			w.handOver(reserved)
			doomed := w.startWorker(failpoint)
			select {
			case <-doomed.Exited():
			case <-w.context().Done():
				t.Fatal("the failpoint was not met")
			}
			p := w.startWorker("")
			w.wantSettled(good, bad)
			w.stopped(p)
		})
	}
}

// TestWorker_AFaultOfTheMomentIsNoBadReservation holds up the whole batch, and
// buries nothing.
func TestWorker_AFaultOfTheMomentIsNoBadReservation(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"deadlock": `RAISE EXCEPTION USING ERRCODE = '40P01'`,
		"timeout":  `PERFORM pg_sleep(30)`,
		"no space": `RAISE EXCEPTION USING ERRCODE = '53100'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 10)
			reserved := w.reserve(5)
			execSQL(t, w.postgresURL, `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN IF NEW.user_id = '`+reserved[2].UserID+`' THEN `+fault+`; END IF; RETURN NEW; END $$`)
			execSQL(t, w.postgresURL, `CREATE TRIGGER fault BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fault()`)
			p := w.startWorker("", "-statement-timeout", "500ms")
			w.handOver(reserved)
			w.eventually("the consumer pauses", func() bool { return strings.Contains(p.log.String(), "consumer paused") })
			if n := w.count(`SELECT count(*) FROM dead_letters`) + len(w.orders().Orders); n != 0 {
				t.Errorf("%d rows while it lasts", n)
			}
			execSQL(t, w.postgresURL, `DROP TRIGGER fault ON orders`)
			w.wantSettled(reserved, nil)
			w.stopped(p)
		})
	}
}

// garble hands reservations over in a message that nobody can read, and lets
// Redis believe in it as their gateway would.
func (w *world) garble(reserved []sale.Reservation) {
	w.t.Helper()
	conn, err := nats.Connect(w.natsURL)
	w.must(err)
	defer conn.Close()
	msg := &nats.Msg{
		Subject: "sluice.orders." + w.entry.ID, Data: []byte("\x00\xff garbled"),
		Header: nats.Header{"Sluice-Epoch": {fmt.Sprint(w.entry.Epoch)}, "Sluice-Schema": {"1"}},
	}
	_, err = conn.RequestMsgWithContext(w.context(), msg)
	w.must(err)
	rids := make([]string, len(reserved))
	for i, r := range reserved {
		rids[i] = r.RID
	}
	w.must(w.stock.HandedOver(w.context(), w.entry.ID, w.entry.Epoch, rids))
}

func TestWorker_AnUnreadableHandOverIsBuriedAndItsReservationsOrdered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	inside := w.reserve(4)
	p := w.startWorker("")
	w.garble(inside)
	after := w.reserve(3)
	w.handOver(after)
	w.eventuallyAll(sale.StatusConfirmed, after)
	w.wantSettled(append(inside, after...), nil)
	if n := w.count(`SELECT count(*) FROM dead_letters WHERE rid IS NULL AND state = 'open' AND payload = '\x00ff20676172626c6564'
		AND sequence = 1 AND epoch = 1 AND position('Sluice-Schema: 1' IN convert_from(header, 'UTF8')) > 0`); n != 1 {
		t.Errorf("%d dead letters as wanted", n)
	}
	if n := w.count(`SELECT count(*) FROM dead_letters`); n != 1 {
		t.Errorf("%d dead letters", n)
	}
	w.stopped(p)
}

func TestWorker_ReservationsLostByTheLastWorkerAreFoundByTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	inside := w.reserve(4)
	w.garble(inside)
	p := w.startWorker("", "-sweep-after", "1h") // too patient to look for what it buried
	w.eventually("the hand-over is buried", func() bool { return w.count(`SELECT count(*) FROM dead_letters`) == 1 })
	w.eventuallyAcknowledged()
	w.must(p.Kill())
	if counts := w.countTickets(inside); counts[sale.StatusQueued] != len(inside) {
		t.Errorf("tickets %v", counts)
	}
	next := w.startWorker("")
	w.wantSettled(inside, nil)
	w.stopped(next)
}

func TestWorker_UnreadableOnesWaitForPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	inside := w.reserve(4)
	execSQL(t, w.postgresURL, `ALTER TABLE dead_letters RENAME TO elsewhere`)
	w.garble(inside)
	p := w.startWorker("")
	w.eventually("the consumer pauses", func() bool { return strings.Contains(p.log.String(), "consumer paused") })
	execSQL(t, w.postgresURL, `ALTER TABLE elsewhere RENAME TO dead_letters`)
	w.wantSettled(inside, nil)
	if n := w.count(`SELECT count(*) FROM dead_letters`); n != 1 {
		t.Errorf("%d dead letters", n)
	}
	w.stopped(p)
}
