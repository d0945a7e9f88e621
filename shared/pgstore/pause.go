package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// SetPaused pauses or resumes a sale and returns its entry, to be brought to the
// other stores. It is a new rev only if it changes something.
func (s *Store) SetPaused(ctx context.Context, saleID string, paused bool) (sale.Entry, error) {
	var entry sale.Entry
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET paused = $2, rev = rev + CASE WHEN paused = $2 THEN 0 ELSE 1 END
			WHERE sale_id = $1 RETURNING `+entryColumns, saleID, paused)
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot pause or resume sale %s: %w", saleID, err)
	}
	return entry, nil
}
