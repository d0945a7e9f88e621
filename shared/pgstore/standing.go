package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Standings returns how every sale stands, retired ones too, by id; how one does if
// saleID is not "". No rows if there is none.
func (s *Store) Standings(ctx context.Context, saleID string) ([]sale.Standing, error) {
	standings, err := read(ctx, s, scanStanding, `
		SELECT e.*, t.total, t.held,
			(SELECT count(*) FROM releases r WHERE r.sale_id = e.sale_id AND r.applied_at IS NULL),
			(SELECT count(*) FROM stock_adjustments a WHERE a.sale_id = e.sale_id AND a.finished_at IS NULL)
		FROM (SELECT `+entryColumns+` FROM sales WHERE $1 = '' OR sale_id = $1) e
		JOIN sale_stock t ON t.sale_id = e.sale_id
		ORDER BY e.sale_id`, saleID)
	if err != nil {
		return nil, fmt.Errorf("cannot read how sales stand: %w", err)
	}
	return standings, nil
}

// scanStanding reads an entry's columns and the four behind them.
func scanStanding(row pgx.CollectableRow) (sale.Standing, error) {
	var st sale.Standing
	var err error
	st.Entry, err = scanEntry(withMore{row, []any{&st.Total, &st.Held, &st.Unapplied, &st.Adjusting}})
	return st, err
}

// withMore is a row that has columns behind those that its reader knows.
type withMore struct {
	pgx.CollectableRow
	targets []any
}

func (w withMore) Scan(dest ...any) error {
	return w.CollectableRow.Scan(append(dest, w.targets...)...)
}
