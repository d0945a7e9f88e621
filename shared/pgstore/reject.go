package pgstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Reject decides the only reservation of b, which Order refused with
// ErrInvalid for this cause: it gets a dead letter, a release and, where orders
// takes one, a rejected row, all in one transaction. sequence is that of its
// hand-over in the stream. Repeated, it changes nothing; a reservation that was
// decided otherwise meanwhile keeps its state.
//
// Its unit was taken out of Redis and never out of Postgres, where it is free:
// give 1. Unless another rid holds the slot: then Redis has forgotten that one,
// and the unit stands for the holder's, as with any duplicate.
//
// ErrNoSale, ErrRetired, ErrStaleEpoch and BeyondError refuse the batch; nothing is written.
func (s *Store) Reject(ctx context.Context, b Batch, sequence uint64, cause error) (Verdict, error) {
	r := b.Reservations[0]
	var verdict Verdict
	// Behind a closed gate no Order can be under way with the same rid. Nothing
	// else could arbitrate when orders does not take its row.
	err := s.changeSale(ctx, b.SaleID, func(ctx context.Context, tx pgx.Tx) error {
		d := &decision{tx: tx, batch: b}
		if err := d.lockSale(ctx); err != nil {
			return err
		}
		found, err := d.obstacleOf(ctx, r)
		if err != nil {
			return err
		}
		if found.stored.State != "" {
			verdict = found.stored
			return nil
		}
		verdict = Verdict{
			RID: r.RID, State: sale.OrderRejected, Reason: sale.ReasonInvalid, Fate: FateInvalid, Holder: found.slotHolder,
		}
		switch {
		case sequence > d.lastSeq:
			verdict.Reason, verdict.Fate, verdict.Holder = sale.ReasonSuperseded, FateSuperseded, ""
		case found.slotHolder != "":
			verdict.Reason = sale.ReasonDuplicate
		}
		return d.writeInvalid(ctx, verdict, sequence, cause)
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("cannot reject reservation %s of sale %s: %w", r.RID, b.SaleID, err)
	}
	return verdict, nil
}

// obstacleOf is obstacles for one whose very values may be refused in a query
// too: nobody can have a row with those.
func (d *decision) obstacleOf(ctx context.Context, r sale.Reservation) (obstacle, error) {
	var found map[string]obstacle
	err := d.unlessInvalid(ctx, func(inner *decision) (err error) {
		found, err = inner.obstacles(ctx, []sale.Reservation{r})
		return err
	})
	if err != nil || found != nil || !isRID(r.RID) {
		return found[r.RID], err
	}
	return d.rejectedBefore(ctx, r.RID)
}

// rejectedBefore looks by nothing but the rid, for one whose other values cannot be
// looked by: all it can have is the release that an earlier Reject made.
func (d *decision) rejectedBefore(ctx context.Context, rid string) (obstacle, error) {
	o := obstacle{stored: Verdict{RID: rid, Fate: FateKnown}}
	rows, err := collect(ctx, d.tx, pgx.RowTo[string], `SELECT reason FROM releases WHERE rid = $1::text::uuid`, rid)
	if err != nil || len(rows) == 0 {
		return obstacle{}, err
	}
	o.stored.State, o.stored.Reason = sale.OrderRejected, sale.Reason(rows[0])
	return o, nil
}

func (d *decision) writeInvalid(ctx context.Context, v Verdict, sequence uint64, cause error) error {
	r := d.batch.Reservations[0]
	payload, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode reservation: %w", err)
	}
	letter := deadLetter{
		saleID: d.batch.SaleID, epoch: d.batch.Epoch, sequence: sequence, payload: payload, reason: reasonOf(cause),
	}
	if isRID(r.RID) { // else no table can name it, and no ticket is known by it
		letter.rid = r.RID
		if err := d.insertRejected(ctx, v); err != nil {
			return err
		}
	}
	_, err = letter.insert(ctx, d.tx)
	return err
}

// insertRejected makes the release, and the row if orders takes one.
func (d *decision) insertRejected(ctx context.Context, v Verdict) error {
	r := d.batch.Reservations[0]
	err := d.unlessInvalid(ctx, func(inner *decision) error {
		_, err := inner.tx.Exec(ctx, `
			INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
				state, shown_state, reason, holds_unit, holds_slot)
			VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, 'rejected', 'rejected', $10, false, false)`,
			r.RID, d.batch.SaleID, r.UserID, r.Slot, r.Key, r.Rank, r.AcceptedAt, d.batch.PriceMinor, d.batch.Currency, v.Reason)
		return err
	})
	if err != nil {
		return fmt.Errorf("insert rejected order: %w", err)
	}
	give, superseded := 1, v.Reason == sale.ReasonSuperseded
	if v.Holder != "" || superseded {
		give = 0
	}
	_, err = d.tx.Exec(ctx, `
		INSERT INTO releases (rid, sale_id, status, reason, give, holder, applied_at)
		VALUES ($1::text::uuid, $2, 'rejected', $3, $4, nullif($5::text, '')::uuid, CASE WHEN $6 THEN now() END)`,
		r.RID, d.batch.SaleID, v.Reason, give, v.Holder, superseded)
	if err != nil {
		return fmt.Errorf("insert release: %w", err)
	}
	return nil
}

// unlessInvalid runs fn inside a savepoint and undoes it, without an error, when
// the database refuses its values.
func (d *decision) unlessInvalid(ctx context.Context, fn func(*decision) error) error {
	err := pgx.BeginFunc(ctx, d.tx, func(tx pgx.Tx) error {
		if err := fn(&decision{tx: tx, batch: d.batch}); err != nil {
			return err
		}
		// What the schema checks at commit is checked here, where it can be undone.
		if _, err := tx.Exec(ctx, `SET CONSTRAINTS ALL IMMEDIATE`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SET CONSTRAINTS ALL DEFERRED`)
		return err
	})
	if invalid(err) {
		return nil
	}
	return err
}
