package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// RestoreRefunded makes Postgres hold what a refunded ticket says, by the payments that it
// has: the first success and the first refund of the order's amount are the ones that were applied, and the refund says
// whether the unit came back. Without one it did not, unless none is left to hold. Applying a success to such an order would owe a refund.
// replaced are the expired orders that it took the place of, the last one first: payments may name those.
// With back it leaves out what keeps its unit, else what does not: units must be free before anybody takes them.
// surplus is 1 when there was no unit to keep.
func (s *Store) RestoreRefunded(ctx context.Context, e sale.Entry, t sale.Ticket, replaced []string, back bool) (restored int64, surplus int, err error) {
	err = s.changeSale(ctx, e.ID, func(ctx context.Context, tx pgx.Tx) error {
		r := &restoring{tx: tx, entry: e, tickets: []sale.Ticket{t}}
		err := r.refunded(ctx, replaced, back)
		restored, surplus = r.restored, r.surplus
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("cannot restore refunded order %s of sale %s: %w", t.RID, e.ID, err)
	}
	return restored, surplus, nil
}

func (r *restoring) refunded(ctx context.Context, replaced []string, back bool) error {
	t := r.tickets[0]
	named := append([]string{t.RID}, replaced...)
	restock, state, err := r.refundOf(ctx, named)
	if err != nil || state == sale.OrderRefunded || restock != back {
		return err
	}
	r.restored = 1
	if _, err := r.tx.Exec(ctx, `
		INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, created_at, replaces)
		SELECT t.id, $1, t.user_id, t.slot, t.key, t.rank, t.accepted_at, $11, $12, 'refunded', 'refunded', NOT $13::boolean,
			NOT s.rebuy_after_release, t.updated_at, ($14::text[]::uuid[])[2]
		FROM `+closedTickets+`, sales s WHERE s.sale_id = $1
		ON CONFLICT (id) DO UPDATE SET state = 'refunded', shown_state = 'refunded', holds_unit = EXCLUDED.holds_unit,
			holds_slot = EXCLUDED.holds_slot, expires_at = NULL, replaces = EXCLUDED.replaces`, r.args(r.entry.PriceMinor, r.entry.Currency, restock, named)...); err != nil {
		return fmt.Errorf("insert refunded order: %w", err)
	}
	if _, err := r.tx.Exec(ctx, `
		UPDATE payments SET applied_at = clock_timestamp(), result = CASE type WHEN 'refund.succeeded' THEN 'refunded' ELSE 'paid' END
		WHERE applied_at IS NULL AND event_id IN (
			SELECT DISTINCT ON (type) event_id FROM payments
			WHERE order_id = ANY ($1::text[]::uuid[]) AND type IN ('payment.succeeded', 'refund.succeeded') AND amount = $2 AND currency = $3
			ORDER BY type, received_at, event_id)`, named, r.entry.PriceMinor, r.entry.Currency); err != nil {
		return fmt.Errorf("mark payments: %w", err)
	}
	give := 0
	if restock {
		give = 1
	}
	if _, err := r.tx.Exec(ctx, `
		INSERT INTO releases (rid, sale_id, status, reason, give, created_at, applied_at) VALUES ($1::text::uuid, $2, 'refunded', '', $3, $4, now())
		ON CONFLICT (rid) DO NOTHING`, t.RID, r.entry.ID, give, t.UpdatedAt); err != nil {
		return fmt.Errorf("insert release: %w", err)
	}
	switch was := state.HoldsUnit(); {
	case was && restock:
		return (&lettingGo{tx: r.tx, saleID: r.entry.ID}).giveBack(ctx, 1)
	case !was && !restock:
		return r.holdOne(ctx)
	}
	return nil
}

// holdOne takes the unit that a refund did not bring back. When others hold them all
// the order holds none: nothing may be held that is not there.
func (r *restoring) holdOne(ctx context.Context) error {
	tag, err := r.tx.Exec(ctx, `UPDATE sale_stock SET held = held + 1 WHERE sale_id = $1 AND held < total`, r.entry.ID)
	if err == nil && tag.RowsAffected() == 0 {
		r.surplus = 1
		_, err = r.tx.Exec(ctx, `UPDATE orders SET holds_unit = false WHERE id = $1::text::uuid`, r.tickets[0].RID)
	}
	if err != nil {
		return fmt.Errorf("hold the unit of a refunded order: %w", err)
	}
	return nil
}

// refundOf reads whether an order's refund gave its unit back, and the state of its
// row, "" when there is none.
func (r *restoring) refundOf(ctx context.Context, named []string) (restock bool, state sale.OrderState, err error) {
	err = r.tx.QueryRow(ctx, `
		SELECT coalesce((SELECT restock FROM payments WHERE order_id = ANY ($1::text[]::uuid[]) AND type = 'refund.succeeded'
				AND amount = $2 AND currency = $3 ORDER BY received_at, event_id LIMIT 1), false),
			coalesce((SELECT state FROM orders WHERE id = ($1::text[]::uuid[])[1]), '')`, named, r.entry.PriceMinor, r.entry.Currency).Scan(&restock, &state)
	if err != nil {
		return false, "", fmt.Errorf("read refund: %w", err)
	}
	return restock, state, nil
}

// KeepPaid marks pending orders as paid whose tickets say so, though no payment that
// Postgres knows does, and returns how many: the event is older than the stream keeps it.
// Else they would expire. A payment under an id of its own stands for the event that is gone.
func (s *Store) KeepPaid(ctx context.Context, rids []string) (kept int64, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			WITH unpaid AS (
				SELECT id FROM orders WHERE id = ANY ($1::text[]::uuid[]) AND state = 'pending' ORDER BY id FOR UPDATE
			), paid AS (
				UPDATE orders o SET state = 'paid', shown_state = 'paid', expires_at = NULL FROM unpaid WHERE o.id = unpaid.id
				RETURNING o.id, o.amount, o.currency
			)
			INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, result, applied_at)
			SELECT 'recovered ' || id, 'payment.succeeded', id, amount, currency, false, now(), 'paid', clock_timestamp() FROM paid`, rids)
		kept = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot keep %d orders paid: %w", len(rids), err)
	}
	return kept, nil
}
