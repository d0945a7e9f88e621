package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// What Postgres has lost is brought back from what Redis still knows, in this order:
//
//	Adopt           what the catalogue says: epoch, rev, pause, early end, what was applied, and the template
//	RestoreAllowList who may buy
//	RestoreClosed   what was let go: units come back before anybody takes them
//	RestoreRefunded what was paid and refunded and gave its unit back, by the payments, which are stored before
//	RestoreAdjusted units that operators added or took away
//	RestoreRefunded what was refunded and keeps its unit
//	Order           the tickets that are open, in the order of their ranks
//	RestoreClosed   duplicates, whose holders are there now
//	KeepPaid        what was paid and no payment tells any more
//
// Each step may be repeated.

// Missing counts those of tickets, all of which have an outcome, that Postgres does not
// know: it has no row, or one in a state that the ticket has left. A store that has
// lost nothing knows them all, because a ticket is settled after the commit.
func (s *Store) Missing(ctx context.Context, tickets []sale.Ticket) (missing int, err error) {
	rids, statuses := make([]string, len(tickets)), make([]string, len(tickets))
	for i, t := range tickets {
		rids[i], statuses[i] = t.RID, string(t.Status)
	}
	found, err := read(ctx, s, pgx.RowTo[int], `
		SELECT count(*)::int FROM unnest($1::text[]::uuid[], $2::text[]) AS t (id, status)
		LEFT JOIN orders o ON o.id = t.id
		WHERE t.status <> 'queued' AND CASE
			WHEN o.id IS NULL THEN NOT EXISTS (SELECT FROM releases r WHERE r.rid = t.id)
			WHEN t.status = 'paid' THEN o.state NOT IN ('paid', 'refunded')
			WHEN t.status = 'confirmed' THEN false
			ELSE o.state <> t.status END`, rids, statuses)
	if err != nil {
		return 0, fmt.Errorf("cannot look for %d tickets: %w", len(tickets), err)
	}
	return found[0], nil
}

// MissingPayments counts the payment events that Postgres does not have.
func (s *Store) MissingPayments(ctx context.Context, eventIDs []string) (missing int, err error) {
	found, err := read(ctx, s, pgx.RowTo[int], `
		SELECT count(*)::int FROM unnest($1::text[]) AS e (id) WHERE NOT EXISTS (SELECT FROM payments p WHERE p.event_id = e.id)`, eventIDs)
	if err != nil {
		return 0, fmt.Errorf("cannot look for %d payment events: %w", len(eventIDs), err)
	}
	return found[0], nil
}

// MissingAdjusted counts the adjustments that Redis has applied and Postgres does not know.
func (s *Store) MissingAdjusted(ctx context.Context, adjusted []sale.Adjustment) (missing int, err error) {
	ids := make([]string, len(adjusted))
	for i, a := range adjusted {
		ids[i] = a.ID
	}
	found, err := read(ctx, s, pgx.RowTo[int], `
		SELECT count(*)::int FROM unnest($1::text[]) AS a (id) WHERE NOT EXISTS (SELECT FROM stock_adjustments s WHERE s.id = a.id)`, ids)
	if err != nil {
		return 0, fmt.Errorf("cannot look for %d adjustments: %w", len(ids), err)
	}
	return found[0], nil
}

// RestoreClosed makes Postgres hold what closed tickets of a sale say: an order that is
// pending is closed and gives its unit back, one that is not there gets its row, and each
// has a release that is applied. It returns how many orders it changed or made. tickets are
// expired, cancelled or rejected; one may be there twice, as Redis lists them.
func (s *Store) RestoreClosed(ctx context.Context, e sale.Entry, tickets []sale.Ticket) (restored int64, err error) {
	tickets = eachOnce(tickets)
	restored, err = s.restoreClosed(ctx, e, tickets, (*restoring).rows)
	if !invalid(err) {
		return restored, err
	}
	restored = 0
	for i := range tickets { // at least one that orders takes no row of
		n, err := s.restoreClosed(ctx, e, tickets[i:i+1], (*restoring).rows)
		if invalid(err) {
			n, err = s.restoreClosed(ctx, e, tickets[i:i+1], (*restoring).rowless)
		}
		if restored += n; err != nil {
			return restored, err
		}
	}
	return restored, nil
}

func (s *Store) restoreClosed(ctx context.Context, e sale.Entry, tickets []sale.Ticket, write func(*restoring, context.Context) error) (int64, error) {
	var r *restoring
	err := s.changeSale(ctx, e.ID, func(ctx context.Context, tx pgx.Tx) error {
		r = &restoring{tx: tx, entry: e, tickets: tickets}
		if err := write(r, ctx); err != nil {
			return err
		}
		return r.releases(ctx)
	})
	if err != nil {
		return 0, fmt.Errorf("cannot restore %d closed orders of sale %s: %w", len(tickets), e.ID, err)
	}
	return r.restored, nil
}

func eachOnce(tickets []sale.Ticket) []sale.Ticket {
	seen := make(map[string]bool, len(tickets))
	var once []sale.Ticket
	for _, t := range tickets {
		if !seen[t.RID] {
			seen[t.RID] = true
			once = append(once, t)
		}
	}
	return once
}

// restoring is one transaction of RestoreClosed.
type restoring struct {
	tx       pgx.Tx
	entry    sale.Entry
	tickets  []sale.Ticket
	restored int64
	surplus  int
}

// closedTickets are the tickets as a table t; its parameters are $2 to $10.
const closedTickets = `unnest($2::text[]::uuid[], $3::text[], $4::smallint[], $5::text[], $6::bigint[], $7::timestamptz[],
	$8::text[], $9::text[], $10::timestamptz[]) AS t (id, user_id, slot, key, rank, accepted_at, status, reason, updated_at)`

// args are $1 to $10 of closedTickets, and more.
func (r *restoring) args(more ...any) []any {
	reservations := make([]sale.Reservation, len(r.tickets))
	statuses, reasons := make([]string, len(r.tickets)), make([]string, len(r.tickets))
	updated := make([]time.Time, len(r.tickets))
	for i, t := range r.tickets {
		reservations[i], statuses[i], reasons[i], updated[i] = t.Reservation, string(t.Status), string(t.Reason), t.UpdatedAt
	}
	c := columnsOf(reservations)
	return append([]any{r.entry.ID, c.rids, c.users, c.slots, c.keys, c.ranks, c.times, statuses, reasons, updated}, more...)
}

func (r *restoring) rows(ctx context.Context) error {
	closed, err := r.tx.Exec(ctx, `
		UPDATE orders o SET state = t.status, shown_state = t.status, reason = t.reason, holds_unit = false,
			holds_slot = t.status <> 'rejected' AND NOT s.rebuy_after_release
		FROM `+closedTickets+`, sales s
		WHERE s.sale_id = $1 AND o.id = t.id AND o.state = 'pending'`, r.args()...)
	if err != nil {
		return fmt.Errorf("close orders: %w", err)
	}
	made, err := r.tx.Exec(ctx, `
		INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, reason, holds_unit, holds_slot, created_at)
		SELECT t.id, $1, t.user_id, t.slot, t.key, t.rank, t.accepted_at, $11, $12, t.status, t.status, t.reason, false,
			t.status <> 'rejected' AND NOT s.rebuy_after_release, t.updated_at
		FROM `+closedTickets+`, sales s
		WHERE s.sale_id = $1 AND NOT EXISTS (SELECT FROM dead_letters d WHERE d.rid = t.id)
		ORDER BY t.user_id COLLATE "C", t.slot, t.rank, t.id
		ON CONFLICT DO NOTHING`, r.args(r.entry.PriceMinor, r.entry.Currency)...)
	if err != nil {
		return fmt.Errorf("insert closed orders: %w", err)
	}
	r.restored = closed.RowsAffected() + made.RowsAffected()
	if closed.RowsAffected() == 0 {
		return nil
	}
	l := &lettingGo{tx: r.tx, saleID: r.entry.ID}
	return l.giveBack(ctx, closed.RowsAffected())
}

// rowless keeps the ticket of one that orders takes no row of, as Reject does.
func (r *restoring) rowless(ctx context.Context) error {
	payload, err := json.Marshal(r.tickets[0].Reservation)
	if err != nil {
		return fmt.Errorf("encode reservation: %w", err)
	}
	letter := deadLetter{saleID: r.entry.ID, epoch: r.entry.Epoch, rid: r.tickets[0].RID, payload: payload,
		reason: "restored from its ticket: the database takes no row of it"}
	_, err = letter.insert(ctx, r.tx)
	return err
}

// releases also marks those as applied that were not when the copy was taken.
func (r *restoring) releases(ctx context.Context) error {
	_, err := r.tx.Exec(ctx, `
		INSERT INTO releases (rid, sale_id, status, reason, give, holder, created_at, applied_at)
		SELECT t.id, $1, t.status, t.reason, CASE WHEN t.status <> 'rejected' OR t.reason = 'invalid' THEN 1 ELSE 0 END,
			CASE WHEN t.reason = 'duplicate' THEN coalesce(
				(SELECT o.id FROM orders o WHERE o.sale_id = $1 AND o.user_id = t.user_id AND o.slot = t.slot AND o.id <> t.id
				 ORDER BY o.holds_slot DESC, o.id DESC LIMIT 1), t.id) END,
			t.updated_at, now()
		FROM `+closedTickets+`
		ON CONFLICT (rid) DO UPDATE SET applied_at = coalesce(releases.applied_at, now())`, r.args()...)
	if err != nil {
		return fmt.Errorf("insert releases: %w", err)
	}
	return nil
}

// restorer is who audit_log names for what a recovery writes.
const restorer = "recovery"

// RestoreAdjusted makes Postgres count the adjustments that have moved units in Redis, and
// returns how many it did not count. Call it when closed orders have given their units
// back: a total may be lower than what they held. What is held after all stays in
// the total, and an audit tells: a recovery that fails would keep every sale waiting. Of
// coupons the template has as many as the sale has units then: it had, when they came.
func (s *Store) RestoreAdjusted(ctx context.Context, saleID string, adjusted []sale.Adjustment) (restored int64, err error) {
	ids, deltas := make([]string, len(adjusted)), make([]int64, len(adjusted))
	for i, a := range adjusted {
		ids[i], deltas[i] = a.ID, a.Delta
	}
	err = s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) error {
		var units int64
		err := tx.QueryRow(ctx, `
			WITH a AS (SELECT * FROM unnest($2::text[], $3::bigint[]) AS a (id, delta)),
			made AS (
				INSERT INTO stock_adjustments (id, sale_id, delta, state, who, operator, address, finished_at)
				SELECT id, $1, delta, 'applied', $4, '', '', now() FROM a ON CONFLICT (id) DO NOTHING RETURNING id, delta
			), finished AS (
				UPDATE stock_adjustments s SET state = 'applied', finished_at = now() FROM a
				WHERE s.id = a.id AND s.sale_id = $1 AND s.state = 'intended' RETURNING s.id, s.delta
			), counted AS (
				SELECT * FROM made UNION ALL SELECT * FROM finished
			), logged AS (
				INSERT INTO audit_log (who, operator, address, action, sale_id, subject, before, after)
				SELECT $4, '', '', $5, $1, id, '{}', jsonb_build_object('delta', delta) FROM counted
			)
			SELECT count(*), coalesce(sum(delta), 0)::bigint FROM counted`, saleID, ids, deltas, restorer, sale.ActionStock).
			Scan(&restored, &units)
		if err != nil || units == 0 {
			return err
		}
		if err := raiseTemplate(ctx, tx, saleID, units); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE sale_stock SET total = greatest(total + $2, held) WHERE sale_id = $1`, saleID, units)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot restore %d adjustments of sale %s: %w", len(adjusted), saleID, err)
	}
	return restored, nil
}

// raiseTemplate has the template of a sale hold the units that the sale is about to have. Its
// row is locked before the stock row.
func raiseTemplate(ctx context.Context, tx pgx.Tx, saleID string, more int64) error {
	_, err := tx.Exec(ctx, `
		UPDATE coupon_templates t SET total = k.total + $2, changed_at = now() FROM sales s, sale_stock k
		WHERE s.sale_id = $1 AND k.sale_id = $1 AND t.template_id = s.template_id AND t.total < k.total + $2`, saleID, more)
	if err != nil {
		return fmt.Errorf("raise template: %w", err)
	}
	return nil
}
