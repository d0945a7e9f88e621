package pgstore

import (
	"context"
	"fmt"

	"sluice/shared/sale"
)

// write does what was decided. The stock row, which every batch of the sale needs,
// comes last, but for a late payment, whose order is made as any other's.
func (p *paying) write(ctx context.Context) error {
	d := &p.done
	if d.NeedsUnit && p.late.hasUnit() && p.late.Of == d.Order.RID {
		if err := p.orderLate(ctx); err != nil {
			return err
		}
		d.NeedsUnit = false // it is decided: there is something to tell, and nothing to ask for
	}
	if d.Result == sale.PaymentWaits {
		return nil
	}
	var err error
	switch d.Result {
	case sale.PaymentPaid:
		if d.Order.RID != d.Payment.OrderID {
			d.Result = sale.PaymentReplaced
		}
		err = p.pay(ctx, d.Order.RID)
	case sale.PaymentReplaced:
		err = p.pay(ctx, p.late.Reservation.RID)
	case sale.PaymentOwed:
		err = p.owe(ctx)
	case sale.PaymentSettled:
		err = p.settle(ctx)
	case sale.PaymentRefunded:
		err = p.refund(ctx)
	case sale.PaymentWaits, sale.PaymentNoted, sale.PaymentWrongAmount, sale.PaymentNotPaid:
	}
	if err != nil {
		return err
	}
	if err := p.one(ctx, `UPDATE payments SET result = $2, applied_at = clock_timestamp() WHERE event_id = $1`, d.Payment.EventID, d.Result); err != nil {
		return fmt.Errorf("mark event: %w", err)
	}
	if d.Result != sale.PaymentRefunded || !d.Payment.Restock {
		return nil
	}
	return (&lettingGo{tx: p.tx, saleID: d.Order.SaleID}).giveBack(ctx, 1)
}

// one runs a statement that must change one row. Else somebody changed what this
// transaction has locked or another one is deciding it: it starts over.
func (p *paying) one(ctx context.Context, sql string, args ...any) error {
	tag, err := p.tx.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%w: %d rows", errStartOver, tag.RowsAffected())
	}
	return err
}

// pay leaves the ticket to the shown loop.
func (p *paying) pay(ctx context.Context, rid string) error {
	err := p.one(ctx, `UPDATE orders SET state = 'paid', expires_at = NULL WHERE id = $1::text::uuid AND state = 'pending'`, rid)
	if err != nil {
		return fmt.Errorf("pay order: %w", err)
	}
	return nil
}

// orderLate makes the order of the reservation that a late payment took, as any
// batch does: it may have been ordered before, its slot or its unit may turn out
// not to be there. What is pending then is for pay.
func (p *paying) orderLate(ctx context.Context) error {
	d := &p.done
	made := &decision{tx: p.tx, verdicts: map[string]Verdict{}, batch: Batch{
		SaleID: d.Order.SaleID, Epoch: p.late.Epoch, PriceMinor: d.Order.AmountMinor, Currency: d.Order.Currency,
		Reservations: []sale.Reservation{p.late.Reservation},
	}}
	if err := made.decide(ctx, made.batch.Reservations); err != nil {
		return err
	}
	verdict := made.verdicts[p.late.Reservation.RID]
	switch {
	case verdict.State == sale.OrderPending:
		d.Result = sale.PaymentReplaced
		return p.one(ctx, `UPDATE orders SET replaces = $2::text::uuid WHERE id = $1::text::uuid`, verdict.RID, d.Order.RID)
	case verdict.Reason == sale.ReasonDuplicate:
		d.Result, d.Reason = sale.PaymentOwed, sale.OwedNoSlot
	case verdict.State == sale.OrderRejected:
		d.Result, d.Reason = sale.PaymentOwed, sale.OwedNoUnit
	default: // it was ordered since, and has moved on: the chain has one more
		return fmt.Errorf("%w: order %s is %s", errStartOver, verdict.RID, verdict.State)
	}
	return nil
}

// giveUp is for a unit whose payment was applied without it: another worker has asked
// Redis a moment earlier, when there was none. Nobody pays for it any more, so its
// order is over as it is made, and the release brings the unit back. One that was
// ordered before is no business of this payment.
func (p *paying) giveUp(ctx context.Context) error {
	if !p.late.hasUnit() {
		return nil
	}
	b := Batch{Epoch: p.late.Epoch, Reservations: []sale.Reservation{p.late.Reservation}}
	err := p.tx.QueryRow(ctx, `SELECT sale_id, amount, currency FROM orders WHERE id = $1::text::uuid`, p.late.Of).
		Scan(&b.SaleID, &b.PriceMinor, &b.Currency)
	if err != nil {
		return fmt.Errorf("find order: %w", err)
	}
	made := &decision{tx: p.tx, verdicts: map[string]Verdict{}, batch: b}
	if err := made.decide(ctx, b.Reservations); err != nil {
		return err
	}
	if made.verdicts[p.late.Reservation.RID].Fate != FateOrdered {
		return nil
	}
	l := &lettingGo{tx: p.tx, saleID: b.SaleID, becomes: sale.OrderExpired}
	if err := l.lock(ctx); err != nil {
		return err
	}
	_, err = l.closeOrders(ctx, `SELECT $4::text::uuid AS id`, p.late.Reservation.RID)
	return err
}

// owe is idempotent by the event.
func (p *paying) owe(ctx context.Context) error {
	e := p.done.Payment
	_, err := p.tx.Exec(ctx, `
		INSERT INTO refunds_owed (event_id, order_id, amount, currency, reason)
		VALUES ($1, $2::text::uuid, $3, $4, $5) ON CONFLICT (event_id) DO NOTHING`,
		e.EventID, e.OrderID, e.AmountMinor, e.Currency, p.done.Reason)
	if err != nil {
		return fmt.Errorf("note refund owed: %w", err)
	}
	return nil
}

// settle settles the oldest refund of this amount that the order's payments are owed.
func (p *paying) settle(ctx context.Context) error {
	e := p.done.Payment
	err := p.one(ctx, `
		UPDATE refunds_owed SET settled_at = clock_timestamp() WHERE settled_at IS NULL AND event_id = (
			SELECT event_id FROM refunds_owed
			WHERE order_id = ANY ($1::text[]::uuid[]) AND settled_at IS NULL AND amount = $2 AND currency = $3
			ORDER BY created_at, event_id LIMIT 1)`, p.chain, e.AmountMinor, e.Currency)
	if err != nil {
		return fmt.Errorf("settle refund owed: %w", err)
	}
	return nil
}

// refund closes a paid order, with its release. A unit that does not come back,
// because it was shipped, stays held.
func (p *paying) refund(ctx context.Context) error {
	o, give := p.done.Order, 0
	if p.done.Payment.Restock {
		give = 1
	}
	err := p.one(ctx, `
		WITH refunded AS (
			UPDATE orders SET state = 'refunded', shown_state = 'refunded', holds_unit = $3 = 0, holds_slot = $4
			WHERE id = $1::text::uuid AND state = 'paid' RETURNING id
		)
		INSERT INTO releases (rid, sale_id, status, reason, give)
		SELECT id, $2, 'refunded', '', $3 FROM refunded`, o.RID, o.SaleID, give, p.keeps)
	if err != nil {
		return fmt.Errorf("refund order: %w", err)
	}
	return nil
}
