package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// PendingAdjustment is an adjustment that is not finished.
type PendingAdjustment struct {
	sale.AdjustmentRow
	Epoch int64 // the sale's current one
}

// BeginAdjustment writes an adjustment down, an increase with the total that it makes,
// a decrease as an intention, and returns it with the sale's epoch. What was begun
// under the id before comes back as it stands, whoever began it: ErrOtherAdjustment
// if that is of another sale or number of units.
//
// ErrNoSale, ErrRetired, ErrNotLoaded, ErrRebuilding, ErrTotalLimit and, of coupons,
// ErrTemplateTotal refuse a new one; nothing is written.
func (s *Store) BeginAdjustment(ctx context.Context, by sale.Actor, a sale.Adjustment) (PendingAdjustment, error) {
	var begun PendingAdjustment
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		l, err := lockForAdjustment(ctx, tx, a.SaleID)
		if err != nil {
			return err
		}
		begun.Epoch = l.epoch
		stored, err := adjustments(ctx, tx, `WHERE id = $1`, a.ID)
		switch {
		case err != nil:
			return err
		case len(stored) == 0:
			begun.AdjustmentRow, err = l.begin(ctx, by, a)
			return err
		case stored[0].Adjustment != a:
			return ErrOtherAdjustment
		}
		begun.AdjustmentRow = stored[0]
		return nil
	})
	if err != nil {
		return PendingAdjustment{}, fmt.Errorf("cannot adjust sale %s by %d units: %w", a.SaleID, a.Delta, err)
	}
	return begun, nil
}

// adjusting is a transaction that holds a sale as it is while it adjusts its units.
type adjusting struct {
	tx                  pgx.Tx
	saleID              string
	epoch               int64
	rebuilding, retired bool
}

// lockForAdjustment passes the gate as orders do. ErrNoSale if there is no sale.
func lockForAdjustment(ctx context.Context, tx pgx.Tx, saleID string) (*adjusting, error) {
	l := &adjusting{tx: tx, saleID: saleID}
	statements := &pgx.Batch{} // one round trip
	statements.Queue(passGate, saleID)
	statements.Queue(`SELECT epoch, rebuilding, retired FROM sales WHERE sale_id = $1 FOR SHARE`, saleID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&l.epoch, &l.rebuilding, &l.retired) })
	err := tx.SendBatch(ctx, statements).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, ErrNoSale
	case err != nil:
		return nil, fmt.Errorf("lock sale: %w", err)
	}
	return l, nil
}

func (l *adjusting) begin(ctx context.Context, by sale.Actor, a sale.Adjustment) (sale.AdjustmentRow, error) {
	row := sale.AdjustmentRow{Adjustment: a, State: sale.AdjustmentIntended}
	switch {
	case l.retired:
		return row, ErrRetired
	case l.epoch == 0:
		return row, ErrNotLoaded
	case l.rebuilding:
		return row, ErrRebuilding
	case a.Delta > 0:
		row.State = sale.AdjustmentCounted
	}
	tag, err := l.tx.Exec(ctx, `
		INSERT INTO stock_adjustments (id, sale_id, delta, state, who, operator, address)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
		a.ID, a.SaleID, a.Delta, row.State, by.Who, by.Operator, by.Address)
	if err != nil {
		return row, fmt.Errorf("insert adjustment: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return row, errStartOver // somebody else has begun it since: it is there now
	}
	if a.Delta > 0 {
		return row, l.increase(ctx, a)
	}
	return row, nil
}

// increase adds units, of coupons not more than the template has: its row is locked before
// the stock row, as by those who give out coupons.
func (l *adjusting) increase(ctx context.Context, a sale.Adjustment) error {
	limit, template, err := couponsFor(ctx, l.tx, l.saleID)
	if err != nil {
		return err
	}
	moved, err := l.moveTotal(ctx, a, limit)
	switch {
	case err != nil || moved:
		return err
	case template != "":
		return fmt.Errorf("%w: template %s has %d", ErrTemplateTotal, template, limit)
	}
	return ErrTotalLimit
}

// moveTotal moves the total by an adjustment that is written down, and records that.
// moved is false, and nothing was, when the total would leave its bounds, held and limit. The stock
// row, which every batch of the sale needs, comes last and is held for the commit
// alone.
func (l *adjusting) moveTotal(ctx context.Context, a sale.Adjustment, limit int64) (moved bool, err error) {
	tag, err := l.tx.Exec(ctx, `
		WITH moved AS (
			UPDATE sale_stock SET total = total + $2
			WHERE sale_id = $1 AND total + $2 BETWEEN held AND $3 RETURNING total
		)
		INSERT INTO audit_log (who, operator, address, action, sale_id, subject, before, after)
		SELECT a.who, a.operator, a.address, $5, $1, $4,
			jsonb_build_object('total', moved.total - $2), jsonb_build_object('total', moved.total)
		FROM moved, stock_adjustments a WHERE a.id = $4`,
		l.saleID, a.Delta, limit, a.ID, sale.ActionStock)
	if err != nil {
		return false, fmt.Errorf("move total: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// FinishAdjustment writes down what Redis did with an adjustment at an epoch, and
// returns it as it stands. Repeated, it changes nothing. A decrease that Redis has
// taken out leaves the total now. Should orders hold the units after all, so that
// Redis offered what did not exist, it is refused, although Redis has taken it out:
// with too few units there, nothing is sold twice.
//
// ErrStaleEpoch when a decrease was decided at another epoch than the sale's current
// one: what that epoch took out of Redis is gone with it, so it is to be decided anew.
func (s *Store) FinishAdjustment(ctx context.Context, a sale.Adjustment, epoch int64, result sale.AdjustResult) (sale.AdjustmentRow, error) {
	var row sale.AdjustmentRow
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		l, err := lockForAdjustment(ctx, tx, a.SaleID)
		if err != nil {
			return err
		}
		stored, err := adjustments(ctx, tx, `WHERE id = $1 FOR UPDATE`, a.ID)
		if err != nil {
			return err
		}
		if len(stored) == 0 {
			return fmt.Errorf("there is no adjustment %s", a.ID)
		}
		row = stored[0]
		switch {
		case row.State.Finished():
			return nil
		case row.State == sale.AdjustmentIntended && (epoch != l.epoch || l.rebuilding || l.retired):
			return ErrStaleEpoch
		}
		row, err = l.finish(ctx, row, result)
		return err
	})
	if err != nil {
		return sale.AdjustmentRow{}, fmt.Errorf("cannot finish adjustment %s of sale %s: %w", a.ID, a.SaleID, err)
	}
	return row, nil
}

func (l *adjusting) finish(ctx context.Context, row sale.AdjustmentRow, result sale.AdjustResult) (sale.AdjustmentRow, error) {
	if result.Code == sale.AdjustUnsold {
		return l.refuse(ctx, row, result.Stock)
	}
	intended := row.State == sale.AdjustmentIntended
	row.State = sale.AdjustmentApplied
	if err := l.write(ctx, row); err != nil || !intended {
		return row, err
	}
	moved, err := l.moveTotal(ctx, row.Adjustment, sale.MaxTotal)
	if err != nil || moved {
		return row, err
	}
	var free int64
	if err := l.tx.QueryRow(ctx, `SELECT total - held FROM sale_stock WHERE sale_id = $1`, l.saleID).Scan(&free); err != nil {
		return row, fmt.Errorf("read free units: %w", err)
	}
	return l.refuse(ctx, row, free)
}

func (l *adjusting) refuse(ctx context.Context, row sale.AdjustmentRow, unsold int64) (sale.AdjustmentRow, error) {
	row.State, row.Unsold = sale.AdjustmentRefused, unsold
	if err := l.write(ctx, row); err != nil {
		return row, err
	}
	_, err := l.tx.Exec(ctx, `
		INSERT INTO audit_log (who, operator, address, action, sale_id, subject, before, after)
		SELECT who, operator, address, $2, sale_id, id, '{}', jsonb_build_object('delta', delta, 'unsold', unsold)
		FROM stock_adjustments WHERE id = $1`, row.ID, sale.ActionStockRefused)
	if err != nil {
		return row, fmt.Errorf("record refusal: %w", err)
	}
	return row, nil
}

// write writes a finished state.
func (l *adjusting) write(ctx context.Context, row sale.AdjustmentRow) error {
	_, err := l.tx.Exec(ctx, `UPDATE stock_adjustments SET state = $2, unsold = $3, finished_at = now() WHERE id = $1`,
		row.ID, row.State, row.Unsold)
	if err != nil {
		return fmt.Errorf("update adjustment: %w", err)
	}
	return nil
}

const adjustmentColumns = `id, sale_id, delta, state, unsold`

func adjustmentFields(row *sale.AdjustmentRow) []any {
	return []any{&row.ID, &row.SaleID, &row.Delta, &row.State, &row.Unsold}
}

func scanAdjustment(row pgx.CollectableRow) (sale.AdjustmentRow, error) {
	var a sale.AdjustmentRow
	err := row.Scan(adjustmentFields(&a)...)
	return a, err
}

func adjustments(ctx context.Context, tx pgx.Tx, where string, args ...any) ([]sale.AdjustmentRow, error) {
	rows, err := collect(ctx, tx, scanAdjustment, `SELECT `+adjustmentColumns+` FROM stock_adjustments `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read adjustments: %w", err)
	}
	return rows, nil
}

// UnfinishedAdjustments returns the oldest adjustments that are not finished, at most
// limit of each sale; those in except are passed over, and so are sales that are
// being rebuilt or are retired.
func (s *Store) UnfinishedAdjustments(ctx context.Context, limit int, except []string) ([]PendingAdjustment, error) {
	scan := func(row pgx.CollectableRow) (PendingAdjustment, error) {
		var p PendingAdjustment
		err := row.Scan(append(adjustmentFields(&p.AdjustmentRow), &p.Epoch)...)
		return p, err
	}
	pending, err := readDurable(ctx, s, scan, `
		SELECT a.id, a.sale_id, a.delta, a.state, a.unsold, s.epoch
		FROM sales s CROSS JOIN LATERAL (
			SELECT `+adjustmentColumns+`, created_at FROM stock_adjustments
			WHERE sale_id = s.sale_id AND finished_at IS NULL AND id <> ALL (coalesce($2::text[], '{}'))
			ORDER BY created_at, id LIMIT $1
		) a
		WHERE NOT s.rebuilding AND NOT s.retired AND s.epoch > 0
		ORDER BY a.created_at, a.id`, limit, except)
	if err != nil {
		return nil, fmt.Errorf("cannot read unfinished adjustments: %w", err)
	}
	return pending, nil
}
