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

// Made says how the orders of a backlog of one or more sales were made. A row's created_at is when its
// transaction began, so settling and acknowledging the batches in between is in the time.
type Made struct {
	// PerSecond is from the first batch's begin to that of the batch in which 99 of 100
	// are done. A hand-over that failed comes some seconds late, by the sweeper: that
	// shows in ToLast and not here.
	PerSecond float64
	ToLast    float64 // seconds from the first batch's begin to the last one's
	Batch     float64 // orders in one transaction, on average
}

// Made reads how the orders of sales were made.
func (t Table) Made(ctx context.Context, saleIDs ...string) (Made, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var made Made
	var rows int
	var seconds float64
	err := t.DB.QueryRow(ctx, `
		WITH made AS (
			SELECT created_at FROM orders WHERE sale_id = ANY ($1)
		), ends AS (
			SELECT min(created_at) AS first, percentile_disc(0.99) WITHIN GROUP (ORDER BY created_at) AS done, max(created_at) AS last,
				count(*)::float8 / count(DISTINCT created_at) AS batch
			FROM made
		)
		SELECT (SELECT count(*) FROM made WHERE created_at < done), extract(epoch FROM done - first)::float8, extract(epoch FROM last - first)::float8, batch
		FROM ends`, saleIDs).Scan(&rows, &seconds, &made.ToLast, &made.Batch)
	if err != nil {
		return Made{}, fmt.Errorf("cannot read orders of %q: %w", saleIDs, err)
	}
	if rows == 0 || seconds == 0 {
		return Made{}, fmt.Errorf("cannot measure orders: those of %q are one batch", saleIDs)
	}
	made.PerSecond = float64(rows) / seconds
	return made, nil
}
