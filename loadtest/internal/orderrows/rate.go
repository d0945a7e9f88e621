// Package orderrows reads what the rows of orders say about a run: how fast they were
// made, and how fast the database makes the same rows when nothing else is to be done.
package orderrows

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	statementTimeout = time.Minute // copies of a whole table are among them
	insertTimeout    = 10 * time.Second
)

// Table is the orders of a database, and a copy beside them.
type Table struct{ DB *pgx.Conn }

// Rate is how many orders a second were made of a sale's backlog, from the first
// batch's begin to that of the batch in which 99 of 100 are done, and how many
// seconds it was to the last batch's. A row's created_at is when its transaction
// began, so settling and acknowledging the batches in between is in the time. A
// hand-over that failed comes some seconds late, by the sweeper: that shows in the
// second figure and not in the first.
func (t Table) Rate(ctx context.Context, saleID string) (rate, toLast float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var rows int
	var seconds float64
	err = t.DB.QueryRow(ctx, `
		WITH made AS (
			SELECT created_at FROM orders WHERE sale_id = $1
		), ends AS (
			SELECT min(created_at) AS first, percentile_disc(0.99) WITHIN GROUP (ORDER BY created_at) AS done, max(created_at) AS last FROM made
		)
		SELECT (SELECT count(*) FROM made WHERE created_at < done), extract(epoch FROM done - first)::float8, extract(epoch FROM last - first)::float8
		FROM ends`, saleID).Scan(&rows, &seconds, &toLast)
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	if rows == 0 || seconds == 0 {
		return 0, 0, fmt.Errorf("cannot measure orders: those of sale %s are one batch", saleID)
	}
	return float64(rows) / seconds, toLast, nil
}
