package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Unshown is an open order whose ticket must still be settled.
type Unshown struct {
	RID    string
	SaleID string
	Epoch  int64 // the sale's current one
	State  sale.OrderState
	PayBy  time.Time // Postgres time; zero when nothing is to be paid
}

// A row is born with shown_state = state although its ticket is not settled
// yet: until the hand-over is acknowledged, its redelivery is what settles it.
// That spares every order a second write. Who acknowledges a hand-over that it
// could not settle calls Unshow first; who finds a ticket still queued though no
// hand-over will bring it again, because the stream has lost it, calls it too.

// Unshow leaves the settling of these open orders to the loop that reads
// Unshown. Closed ones are left alone: their release shows them.
func (s *Store) Unshow(ctx context.Context, rids []string) error {
	err := s.update(ctx, `
		WITH shown AS (
			SELECT id FROM orders
			WHERE id = ANY ($1::text[]::uuid[]) AND shown_state <> '' AND state IN ('pending', 'paid')
			ORDER BY id FOR UPDATE
		)
		UPDATE orders o SET shown_state = '' FROM shown WHERE o.id = shown.id`, rids)
	if err != nil {
		return fmt.Errorf("cannot leave %d orders to be shown: %w", len(rids), err)
	}
	return nil
}

// readUnshown is ordered by what orders_unshown_oldest alone can give: Postgres takes
// nearly all orders for unshown, and would walk any other index from its begin.
const readUnshown = `
	SELECT o.id::text, o.sale_id, s.epoch, o.state, o.expires_at
	FROM sales s CROSS JOIN LATERAL (
		SELECT id, sale_id, state, expires_at, created_at FROM orders
		WHERE sale_id = s.sale_id AND shown_state <> state AND state IN ('pending', 'paid')
			AND id <> ALL (coalesce($2::text[], '{}')::uuid[])
		ORDER BY created_at LIMIT $1
	) o
	WHERE s.forgotten_at IS NULL AND NOT s.retired
	ORDER BY o.created_at, o.id`

// Unshown returns the oldest open orders whose tickets do not show their
// state, at most limit of each sale; those in except are passed over. Retired sales
// have no tickets.
func (s *Store) Unshown(ctx context.Context, limit int, except []string) ([]Unshown, error) {
	unshown, err := readDurable(ctx, s, scanUnshown, readUnshown, limit, except)
	if err != nil {
		return nil, fmt.Errorf("cannot read orders to be shown: %w", err)
	}
	return unshown, nil
}

func scanUnshown(row pgx.CollectableRow) (Unshown, error) {
	var u Unshown
	var payBy *time.Time
	err := row.Scan(&u.RID, &u.SaleID, &u.Epoch, &u.State, &payBy)
	u.PayBy = utc(payBy)
	return u, err
}

// MarkShown notes that the tickets of these orders show state. An order that
// has moved on since stays to be shown.
func (s *Store) MarkShown(ctx context.Context, rids []string, state sale.OrderState) error {
	err := s.update(ctx, `
		WITH settled AS (
			SELECT id FROM orders
			WHERE id = ANY ($1::text[]::uuid[]) AND state = $2 AND shown_state <> $2
			ORDER BY id FOR UPDATE
		)
		UPDATE orders o SET shown_state = $2 FROM settled WHERE o.id = settled.id`, rids, state)
	if err != nil {
		return fmt.Errorf("cannot mark %d orders as shown: %w", len(rids), err)
	}
	return nil
}
