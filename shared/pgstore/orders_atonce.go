package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/shared/sale"
)

// An ordinary batch is of the current epoch, all its reservations are new and none has a
// dead letter, and there is a unit for each. It is decided in two round trips, without
// a look at what would be in the way of a row:
//
//	begin · pass the gate · lock the sale, compare the epoch, look for dead letters
//	insert every row · make the coupons and count them, if it is a sale of coupons ·
//	take the units · commit
//
// In any other batch one of these statements finds out or fails. Then all is rolled back
// and the batch is decided with care, by the statements that say what is in the way.
// The locks and their order are the same in both.

// errNotOrdinary is what a batch fails with that must be decided with care.
var errNotOrdinary = errors.New("not an ordinary batch")

// orderAtOnce decides an ordinary batch; false when it is none, and nothing is written.
func (s *Store) orderAtOnce(ctx context.Context, b Batch) (Result, bool, error) {
	c := columnsOf(inOrderOfLocks(b.Reservations))
	ids, ok := idsOf(c.rids)
	if !ok {
		return Result{}, false, nil
	}
	var o ordinary
	err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
		if o, err = lockOrdinary(ctx, conn, b, ids); err == nil {
			err = insertAll(ctx, conn, b, ids, c, o)
		}
		if err == nil || conn.Conn().PgConn().TxStatus() == 'I' {
			return err
		}
		// A connection that cannot even do this is closed as it is released.
		_, _ = conn.Exec(ctx, `ROLLBACK`)
		return err
	})
	switch {
	case err == nil:
		return allOrdered(b.Reservations, o), true, nil
	case errors.Is(err, errNotOrdinary), refused(err), lostRace(err):
		return Result{}, false, nil
	}
	return Result{}, false, err
}

// inOrderOfLocks sorts as insert does.
func inOrderOfLocks(reservations []sale.Reservation) []sale.Reservation {
	sorted := slices.Clone(reservations)
	slices.SortFunc(sorted, func(a, b sale.Reservation) int {
		if c := cmp.Compare(a.UserID, b.UserID); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.RID, b.RID))
	})
	return sorted
}

// ordinary is what the rows of an ordinary batch have of their sale.
type ordinary struct {
	template string    // of a sale of coupons; else ""
	currency string    // of the sale
	payBy    time.Time // zero when nothing is to be paid
}

// lockOrdinary begins the transaction.
func lockOrdinary(ctx context.Context, conn *pgxpool.Conn, b Batch, ids [][16]byte) (o ordinary, err error) {
	var fits bool
	var payBy *time.Time
	statements := &pgx.Batch{}
	statements.Queue(`BEGIN`)
	statements.Queue(passGate, b.SaleID)
	statements.Queue(`
		SELECT epoch = $2 AND NOT retired
				AND EXISTS (SELECT FROM sale_stock WHERE sale_id = $1 AND held + $3 <= total)
				AND (template_id IS NULL OR EXISTS (
					SELECT FROM coupon_templates t WHERE t.template_id = sales.template_id AND issued + $3 <= t.total))
				AND (NOT EXISTS (SELECT FROM dead_letters WHERE sale_id = $1 AND rid IS NOT NULL) -- as nearly always; one that is settled decides too
					OR NOT EXISTS (SELECT FROM dead_letters WHERE rid IS NOT NULL AND rid = ANY ($4::uuid[]))),
			coalesce(template_id, ''), currency, CASE WHEN template_id IS NULL THEN now() + hold END
		FROM sales WHERE sale_id = $1 FOR SHARE`, b.SaleID, b.Epoch, len(ids), ids).
		QueryRow(func(row pgx.Row) error { return row.Scan(&fits, &o.template, &o.currency, &payBy) })
	err = conn.SendBatch(ctx, statements).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return o, errNotOrdinary
	case err != nil:
		return o, fmt.Errorf("lock sale: %w", err)
	case !fits:
		return o, errNotOrdinary
	}
	o.payBy = utc(payBy)
	return o, nil
}

// insertAll makes a row of every reservation, in the order given, and ends the
// transaction. A row in the way of one of them fails the insert, too few units or
// coupons fail the check of their count.
func insertAll(ctx context.Context, conn *pgxpool.Conn, b Batch, ids [][16]byte, c columns, o ordinary) error {
	price, currency := b.PriceMinor, b.Currency
	if o.template != "" { // whatever the hand-over says: a coupon costs nothing
		price, currency = 0, o.currency
	}
	statements := &pgx.Batch{}
	statements.Queue(`
		INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		SELECT r.id, $1, r.user_id, r.slot, r.key, r.rank, r.accepted_at, $2, $3, $11, $11, true, true, $4
		FROM unnest($5::uuid[], $6::text[], $7::smallint[], $8::text[], $9::bigint[], $10::timestamptz[])
			AS r (id, user_id, slot, key, rank, accepted_at)`,
		b.SaleID, price, currency, orNull(o.payBy), ids, c.users, c.slots, c.keys, c.ranks, c.times, bornAs(o.template))
	if o.template != "" {
		statements.Queue(insertCoupons, o.template, b.SaleID, ids, c.users, c.slots)
		statements.Queue(`UPDATE coupon_templates SET issued = issued + $2 WHERE template_id = $1`, o.template, len(ids))
	}
	statements.Queue(`UPDATE sale_stock SET held = held + $2 WHERE sale_id = $1`, b.SaleID, len(ids))
	statements.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("insert orders: %w", err)
	}
	return nil
}

// allOrdered is the result of a batch whose rows are all new; so no rid is there twice.
func allOrdered(reservations []sale.Reservation, o ordinary) Result {
	result := Result{Verdicts: make([]Verdict, len(reservations)), Ordered: len(reservations)}
	for i, r := range reservations {
		result.Verdicts[i] = Verdict{RID: r.RID, State: bornAs(o.template), PayBy: o.payBy, Fate: FateOrdered}
	}
	return result
}
