package pgstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/sale"
)

// Storing is what StorePayments did with an event.
type Storing string

// What StorePayments did.
const (
	StoredNew       Storing = "new"
	StoredBefore    Storing = "before"    // the same event was there
	StoredOtherwise Storing = "otherwise" // an event of this id was there that says something else, and stays
)

const paymentColumns = `p.event_id, p.type, p.order_id::text, p.amount, p.currency, p.restock, p.occurred_at, p.result, p.received_at`

func scanPayment(row pgx.CollectableRow) (sale.Payment, error) {
	var p sale.Payment
	err := row.Scan(&p.EventID, &p.Type, &p.OrderID, &p.AmountMinor, &p.Currency, &p.Restock, &p.OccurredAt, &p.Result, &p.ReceivedAt)
	p.OccurredAt, p.ReceivedAt = p.OccurredAt.UTC(), p.ReceivedAt.UTC()
	return p, err
}

// StorePayments keeps events, in one transaction, and says of each what it did: the
// first of an id stays, whoever brings another. Applying them is ApplyPayment's.
func (s *Store) StorePayments(ctx context.Context, events []sale.PaymentEvent) ([]Storing, error) {
	var done []Storing
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		done, err = storePayments(ctx, tx, canonicalEvents(events))
		if err == nil && !slices.Contains(done, StoredNew) { // they are about to be acknowledged
			err = awaitStandby(ctx, tx)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot store %d payment events: %w", len(events), err)
	}
	return done, nil
}

// canonicalEvents are events as Postgres keeps them: times in microseconds.
func canonicalEvents(events []sale.PaymentEvent) []sale.PaymentEvent {
	events = slices.Clone(events)
	for i := range events {
		events[i].OccurredAt = events[i].OccurredAt.UTC().Truncate(time.Microsecond)
	}
	return events
}

func storePayments(ctx context.Context, tx pgx.Tx, events []sale.PaymentEvent) ([]Storing, error) {
	first := make(map[string]int, len(events)) // index of the first of an id
	var ids []string
	for i, e := range events {
		if _, twice := first[e.EventID]; !twice {
			first[e.EventID] = i
			ids = append(ids, e.EventID)
		}
	}
	slices.Sort(ids) // everybody's order of locks
	statements := &pgx.Batch{}
	created := make(map[int]bool, len(ids))
	for _, id := range ids {
		e := events[first[id]]
		statements.Queue(`
			INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at)
			VALUES ($1, $2, $3::text::uuid, $4, $5, $6, $7) ON CONFLICT (event_id) DO NOTHING`,
			e.EventID, e.Type, e.OrderID, e.AmountMinor, e.Currency, e.Restock, e.OccurredAt).
			Exec(func(tag pgconn.CommandTag) error { created[first[id]] = tag.RowsAffected() == 1; return nil })
	}
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return nil, err
	}
	// In a statement of its own: one that inserts does not see what it waited for.
	kept, err := collect(ctx, tx, scanPayment, `SELECT `+paymentColumns+` FROM payments p WHERE p.event_id = ANY ($1::text[])`, ids)
	if err != nil {
		return nil, err
	}
	stored := make(map[string]sale.PaymentEvent, len(kept))
	for _, p := range kept {
		stored[p.EventID] = p.PaymentEvent
	}
	done := make([]Storing, len(events))
	for i, e := range events {
		switch {
		case created[i]:
			done[i] = StoredNew
		case stored[e.EventID] == e:
			done[i] = StoredBefore
		default:
			done[i] = StoredOtherwise
		}
	}
	return done, nil
}

// UnappliedPayments looks at events that are to be applied, at most limit, by the time
// they were received, and returns those of whose order something is known. They begin
// behind the event after, or with the first one when that is zero; next is where to go
// on, zero behind the last. However many wait for orders that never come, one call
// costs as much as limit.
func (s *Store) UnappliedPayments(ctx context.Context, after sale.Payment, limit int) (known []sale.Payment, next sale.Payment, err error) {
	type looked struct {
		sale.Payment
		known bool
	}
	scan := func(row pgx.CollectableRow) (l looked, err error) {
		l.Payment, err = scanPayment(withMore{row, []any{&l.known}})
		return l, err
	}
	page, err := read(ctx, s, scan, `
		SELECT `+paymentColumns+`,
			EXISTS (SELECT FROM orders o WHERE o.id = p.order_id) OR EXISTS (SELECT FROM releases r WHERE r.rid = p.order_id)
		FROM (
			SELECT * FROM payments
			WHERE applied_at IS NULL AND (received_at, event_id) > ($1, $2)
			ORDER BY received_at, event_id LIMIT $3
		) p
		ORDER BY p.received_at, p.event_id`, after.ReceivedAt, after.EventID, limit)
	if err != nil {
		return nil, next, fmt.Errorf("cannot read unapplied payments: %w", err)
	}
	for _, l := range page {
		if l.known {
			known = append(known, l.Payment)
		}
	}
	if len(page) == limit {
		next = page[limit-1].Payment
	}
	return known, next, nil
}

// What somebody has to do something about. Nothing ends a wrong amount, so a day does.
const (
	countOwed  = `SELECT count(*) FROM refunds_owed WHERE settled_at IS NULL`
	countWrong = `SELECT count(*) FROM payments WHERE result = 'wrong_amount' AND applied_at > now() - interval '1 day'`
)

// PaymentsOpen counts what is open about payments.
func (s *Store) PaymentsOpen(ctx context.Context) (o sale.OpenPayments, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	err = s.pool.QueryRow(ctx, `SELECT (`+countOwed+`), (`+countWrong+`), (SELECT count(*) FROM payments WHERE applied_at IS NULL)`).
		Scan(&o.RefundsOwed, &o.WrongAmounts, &o.Waiting)
	return o, wrapped(err, "cannot count open payments")
}

const owedColumns = `w.event_id, w.order_id::text, w.amount, w.currency, w.reason, w.created_at, w.settled_at`

func scanOwed(row pgx.CollectableRow) (sale.RefundOwed, error) {
	var w sale.RefundOwed
	var settled *time.Time
	err := row.Scan(&w.EventID, &w.OrderID, &w.AmountMinor, &w.Currency, &w.Reason, &w.CreatedAt, &settled)
	w.CreatedAt, w.SettledAt = w.CreatedAt.UTC(), utc(settled)
	return w, err
}

// RefundsOwed returns refunds that are owed, open ones first, then the oldest first,
// at most limit.
func (s *Store) RefundsOwed(ctx context.Context, limit int) ([]sale.RefundOwed, error) {
	owed, err := read(ctx, s, scanOwed, `
		SELECT `+owedColumns+` FROM refunds_owed w
		ORDER BY w.settled_at IS NOT NULL, w.created_at, w.event_id LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot read refunds owed: %w", err)
	}
	return owed, nil
}
