package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// How many tickets or users are passed on at a time: what Redis takes in a few
// milliseconds, so that other sales do not wait for it.
const (
	loadPage  = 250
	allowPage = 2000
)

// Count reads, as of one moment, what the Redis state of an epoch under load is made
// of. Every row gives a ticket, closed ones too, and so does what was rejected without
// a row: each answers as before. The count lasts as long as the parts take, as the
// context allows. ErrNoSale, and ErrStaleEpoch unless this epoch is being loaded.
func (s *Store) Count(ctx context.Context, saleID string, epoch int64, parts sale.LoadParts) error {
	err := s.snapshotTx(ctx, func(tx pgx.Tx) error {
		live, err := countLive(ctx, tx, saleID, epoch)
		if err != nil {
			return err
		}
		if err := parts.Live(live); err != nil {
			return err
		}
		if err := eachUser(ctx, tx, saleID, parts.Allow); err != nil {
			return err
		}
		if err := eachPage(ctx, tx, loadPage, scanCounted, parts.Adjusted, `
			SELECT id, sale_id, delta FROM stock_adjustments
			WHERE sale_id = $1 AND state IN ('counted', 'applied') ORDER BY id`, saleID); err != nil {
			return err
		}
		// Those without a row come first: they hold nothing, and what has a row is newer news.
		if err := eachPage(ctx, tx, loadPage, scanRowless, parts.Tickets, `
			SELECT r.rid::text, r.status, r.reason, r.created_at, d.payload
			FROM releases r JOIN dead_letters d ON d.rid = r.rid
			WHERE r.sale_id = $1 AND NOT EXISTS (SELECT FROM orders o WHERE o.id = r.rid)
			ORDER BY r.rid`, saleID); err != nil {
			return err
		}
		return eachPage(ctx, tx, loadPage, scanLoadTicket, parts.Tickets, `
			SELECT o.id::text, o.user_id, o.slot, o.idempotency_key, o.rank, o.accepted_at,
				o.state, o.reason, o.holds_slot, greatest(o.created_at, r.created_at), o.expires_at
			FROM orders o LEFT JOIN releases r ON r.rid = o.id
			WHERE o.sale_id = $1 ORDER BY o.rank, o.id`, saleID)
	})
	if err != nil {
		return fmt.Errorf("cannot count sale %s at epoch %d: %w", saleID, epoch, err)
	}
	return nil
}

// countLive counts such that stock = total − accepted + given. A release that is not
// applied counts as given: its ticket is loaded closed, and its unit is free. All ranks
// so far count as served: those that have no row never will, and nobody waits for them.
func countLive(ctx context.Context, tx pgx.Tx, saleID string, epoch int64) (sale.Live, error) {
	live := sale.Live{}
	var err error
	if live.Entry, err = oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID); err != nil {
		return live, err
	}
	if live.Entry.Epoch != epoch || !live.Entry.Rebuilding {
		return live, fmt.Errorf("%w: sale has %d, under load: %t", ErrStaleEpoch, live.Entry.Epoch, live.Entry.Rebuilding)
	}
	total, held, err := stock(ctx, tx, saleID)
	if err != nil {
		return live, err
	}
	err = tx.QueryRow(ctx, `
		SELECT (SELECT coalesce(max(rank), 0) FROM orders WHERE sale_id = $1),
			(SELECT count(*) FROM orders WHERE sale_id = $1 AND state = 'pending'),
			(SELECT coalesce(sum(give), 0)::bigint FROM releases WHERE sale_id = $1)`,
		saleID).Scan(&live.Rank, &live.Unpaid, &live.Given)
	live.Total, live.Stock = total, total-held
	live.Accepted, live.Served = held+live.Given, live.Rank
	return live, err
}

// scanCounted reads an adjustment that the total has.
func scanCounted(row pgx.CollectableRow) (sale.Adjustment, error) {
	var a sale.Adjustment
	err := row.Scan(&a.ID, &a.SaleID, &a.Delta)
	return a, err
}

// eachPage passes the rows of a query on as they come, size at a time.
func eachPage[T any](ctx context.Context, tx pgx.Tx, size int, scan pgx.RowToFunc[T], pass func([]T) error, sql string, args ...any) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	page := make([]T, 0, size)
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return err
		}
		if page = append(page, row); len(page) == size {
			if err := pass(page); err != nil {
				return err
			}
			page = make([]T, 0, size) // pass may have kept it
		}
	}
	if err := rows.Err(); err != nil || len(page) == 0 {
		return err
	}
	return pass(page)
}

func scanLoadTicket(row pgx.CollectableRow) (sale.LoadTicket, error) {
	var t sale.LoadTicket
	var state sale.OrderState
	var updated time.Time
	var payBy *time.Time
	err := row.Scan(&t.RID, &t.UserID, &t.Slot, &t.Key, &t.Rank, &t.AcceptedAt, &state, &t.Reason, &t.HoldsSlot, &updated, &payBy)
	t.Status, t.AcceptedAt, t.UpdatedAt = state.TicketStatus(), t.AcceptedAt.UTC(), updated.UTC()
	if state == sale.OrderPending {
		t.PayBy = utc(payBy)
	}
	return t, err
}

// scanRowless makes the ticket of a reservation that orders took no row of.
func scanRowless(row pgx.CollectableRow) (sale.LoadTicket, error) {
	var t sale.LoadTicket
	var rid string
	var updated time.Time
	var payload []byte
	if err := row.Scan(&rid, &t.Status, &t.Reason, &updated, &payload); err != nil {
		return t, err
	}
	if err := json.Unmarshal(payload, &t.Reservation); err != nil {
		return t, fmt.Errorf("read the dead letter of %s: %w", rid, err)
	}
	t.RID, t.UpdatedAt = rid, updated.UTC()
	return t, nil
}
