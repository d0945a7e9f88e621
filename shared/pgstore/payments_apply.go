package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// LateUnit is what Redis said to the attempt of a late payment.
type LateUnit struct {
	Of          string // the expired order that the attempt was made for
	Epoch       int64
	Reservation sale.Reservation
	Refused     sale.OwedReason // why there is none; else ""
}

// hasUnit reports whether Redis has taken a unit for the payment.
func (l *LateUnit) hasUnit() bool { return l != nil && l.Refused == "" }

// AppliedPayment is what ApplyPayment did, or what is to be done first.
type AppliedPayment struct {
	sale.PaymentDecision
	Payment sale.Payment
	Order   *sale.Order // that it acted on, as it was before; nil when there is none
	Epoch   int64       // of the order's sale
	Passed  bool        // nothing was done: it was applied before, or another has it in hand
}

// ApplyPayment applies a stored event in one transaction: what becomes of the
// order, of its unit and of the event is one commit, so that it happens once,
// whoever tries, and however often. An event that cannot be applied yet stays as it
// is, and the decision says what it needs; late is the answer to NeedsUnit, else nil.
//
// ErrStaleEpoch says that late is of an epoch that is over: ask again.
func (s *Store) ApplyPayment(ctx context.Context, eventID string, late *LateUnit) (AppliedPayment, error) {
	var applied AppliedPayment
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		p := &paying{tx: tx, late: late}
		if err := p.apply(ctx, eventID); err != nil {
			return err
		}
		applied = p.done
		return nil
	})
	if err != nil {
		return AppliedPayment{}, fmt.Errorf("cannot apply payment event %s: %w", eventID, err)
	}
	return applied, nil
}

// payPending asks for events without a result, which are those not applied by the constraint
// payments_applied_has_result. Asked for by applied_at, Postgres reads the index of all that
// wait, because it takes those for one or two; so it looks up the events by their ids.
const payPending = `
	WITH event AS (
		SELECT event_id, order_id, amount, currency FROM payments
		WHERE event_id = ANY ($1::text[]) AND result = '' AND type = 'payment.succeeded'
		ORDER BY event_id FOR UPDATE SKIP LOCKED
	), pays AS (
		SELECT o.id, e.event_id FROM orders o JOIN event e ON e.order_id = o.id
		WHERE o.state = 'pending' AND o.amount = e.amount AND o.currency = e.currency
		ORDER BY o.id FOR UPDATE OF o
	), paid AS (
		UPDATE orders o SET state = 'paid', expires_at = NULL
		FROM (SELECT id, min(event_id) AS event_id FROM pays GROUP BY id) p
		WHERE o.id = p.id AND o.state = 'pending'
		RETURNING p.event_id
	)
	UPDATE payments SET result = 'paid', applied_at = clock_timestamp() FROM paid
	WHERE payments.event_id = paid.event_id
	RETURNING payments.event_id`

// PayPending applies at once those of the events that pay for a pending order, and
// returns their ids: it is what ApplyPayment does to the many, in one transaction. Of
// two for one order it applies one; what another has in hand it passes over.
func (s *Store) PayPending(ctx context.Context, eventIDs []string) (paid []string, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		paid, err = collect(ctx, tx, pgx.RowTo[string], payPending, eventIDs)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot pay for %d orders: %w", len(eventIDs), err)
	}
	return paid, nil
}

// paying is one transaction of ApplyPayment. It takes the locks in the store's
// order, behind the event's own row, which nobody waits for who holds a lock: gate,
// sales, orders, sale_stock.
type paying struct {
	tx    pgx.Tx
	late  *LateUnit
	keeps bool     // the sale allows no second purchase: a closed order keeps its slot
	chain []string // the order that the event names, and those that took its place
	done  AppliedPayment
}

func (p *paying) apply(ctx context.Context, eventID string) error {
	inHand := ` SKIP LOCKED`
	if p.late.hasUnit() {
		inHand = `` // what another decides about the event decides about the unit
	}
	found, err := collect(ctx, p.tx, scanPayment, `
		SELECT `+paymentColumns+` FROM payments p
		WHERE p.event_id = $1 AND p.applied_at IS NULL FOR UPDATE`+inHand, eventID)
	if err != nil {
		return fmt.Errorf("lock event: %w", err)
	}
	if len(found) == 0 {
		p.done.Passed = true
		return p.giveUp(ctx)
	}
	p.done.Payment = found[0]
	facts, err := p.facts(ctx)
	if err != nil {
		return err
	}
	p.done.Order = facts.Order
	p.done.PaymentDecision = found[0].Decide(facts)
	return p.write(ctx)
}

// facts locks the order that the event acts on.
func (p *paying) facts(ctx context.Context) (f sale.PaymentFacts, err error) {
	e := p.done.Payment
	p.chain = []string{e.OrderID}
	if e.Type == sale.PaymentFailed {
		return f, nil
	}
	var saleID string
	err = p.tx.QueryRow(ctx, `SELECT sale_id FROM orders WHERE id = $1::text::uuid`, e.OrderID).Scan(&saleID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = p.tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM releases WHERE rid = $1::text::uuid)`, e.OrderID).Scan(&f.Rejected)
	} else if err == nil {
		err = p.lockOrder(ctx, saleID, &f)
	}
	if err != nil {
		return f, fmt.Errorf("find order: %w", err)
	}
	if e.Type == sale.RefundSucceeded {
		err = p.refundFacts(ctx, &f)
	}
	if p.late != nil && f.Order != nil && p.late.Of == f.Order.RID && p.late.Epoch == p.done.Epoch { // an epoch that is over may have had too few units
		f.Refused = p.late.Refused
	}
	return f, err
}

// lockOrder locks the order that the event names, and then those that took its
// place, up to the one that the event acts on.
func (p *paying) lockOrder(ctx context.Context, saleID string, f *sale.PaymentFacts) error {
	statements := &pgx.Batch{}
	statements.Queue(passGate, saleID)
	statements.Queue(`SELECT epoch, retired, rebuilding, NOT rebuy_after_release, template_id IS NOT NULL FROM sales WHERE sale_id = $1 FOR SHARE`, saleID).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&p.done.Epoch, &f.Retired, &f.Rebuilding, &p.keeps, &f.Claim)
		})
	if err := p.tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("lock sale: %w", err)
	}
	for id, before := p.chain[0], ""; ; {
		found, err := collect(ctx, p.tx, scanOrder, `SELECT `+orderColumns+` FROM orders o WHERE o.id = $1::text::uuid FOR UPDATE`, id)
		if err != nil {
			return fmt.Errorf("lock order: %w", err)
		}
		if len(found) == 0 {
			break
		}
		f.Order = &found[0]
		if before != "" {
			p.chain = append(p.chain, id)
			if err := p.replaces(ctx, f.Order, before); err != nil {
				return err
			}
		}
		if f.Order.State != sale.OrderExpired {
			return nil
		}
		before, id = id, sale.LateRID(id)
	}
	return p.tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM releases WHERE rid = $1::text::uuid AND applied_at IS NOT NULL)`,
		f.Order.RID).Scan(&f.Released)
}

// replaces notes whose place an order takes: whoever ordered its reservation first,
// as any other, could not know.
func (p *paying) replaces(ctx context.Context, o *sale.Order, before string) error {
	if o.Replaces != "" || o.State == sale.OrderRejected {
		return nil
	}
	o.Replaces = before
	_, err := p.tx.Exec(ctx, `UPDATE orders SET replaces = $2::text::uuid WHERE id = $1::text::uuid AND replaces IS NULL`, o.RID, before)
	return err
}

func (p *paying) refundFacts(ctx context.Context, f *sale.PaymentFacts) error {
	related := p.chain
	if f.Order != nil && f.Order.Replaces != "" {
		related = append(related, f.Order.Replaces)
	}
	p.chain = related
	e := p.done.Payment
	err := p.tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM refunds_owed WHERE order_id = ANY ($1::text[]::uuid[]) AND settled_at IS NULL AND amount = $2 AND currency = $3),
			EXISTS (SELECT FROM payments WHERE order_id = ANY ($1::text[]::uuid[]) AND applied_at IS NULL AND type = 'payment.succeeded'),
			EXISTS (SELECT FROM payments WHERE order_id = ANY ($1::text[]::uuid[]) AND applied_at IS NOT NULL AND type = 'payment.succeeded')`,
		related, e.AmountMinor, e.Currency).Scan(&f.RefundOwed, &f.SuccessWaiting, &f.SuccessApplied)
	if err != nil {
		return fmt.Errorf("find refunds owed: %w", err)
	}
	return nil
}
