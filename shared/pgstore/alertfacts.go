package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Deviation is what reconciliations found about a sale, of one kind.
type Deviation struct {
	SaleID string
	Kind   string
	Amount int64
}

// OpenWork is what somebody has to do something about.
type OpenWork struct {
	DeadLetters  int64 // open ones
	RefundsOwed  int64 // payments that are to be refunded
	WrongAmounts int64 // payments and refunds of the last day that are not of their order's amount
}

// OpenWork counts it.
func (s *Store) OpenWork(ctx context.Context) (w OpenWork, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	err = s.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM dead_letters WHERE state = 'open'), (`+countOwed+`), (`+countWrong+`)`).
		Scan(&w.DeadLetters, &w.RefundsOwed, &w.WrongAmounts)
	return w, wrapped(err, "cannot count open work")
}

// Unretired returns the ids of the sales that are not retired.
func (s *Store) Unretired(ctx context.Context) ([]string, error) {
	ids, err := read(ctx, s, pgx.RowTo[string], `SELECT sale_id FROM sales WHERE NOT retired ORDER BY sale_id`)
	return ids, wrapped(err, "cannot read which sales there are")
}

// Deviations returns what the newest finished reconciliation found that counts, by sale
// and kind. Of the kind passing, which a run tells once and the next no more, it is what
// was found within the last lately.
func (s *Store) Deviations(ctx context.Context, passing string, lately time.Duration) ([]Deviation, error) {
	found, err := read(ctx, s, pgx.RowToStructByPos[Deviation], `
		SELECT c.sale_id, f ->> 'kind', sum((f ->> 'amount')::bigint)::bigint
		FROM reconciliations c, jsonb_array_elements(c.findings) f
		WHERE (f ->> 'counts')::boolean AND CASE WHEN f ->> 'kind' = $1
			THEN c.run IN (SELECT run FROM reconciliation_runs WHERE finished_at > now() - $2::interval)
			ELSE c.run = (SELECT max(run) FROM reconciliation_runs WHERE finished_at IS NOT NULL) END
			AND c.run >= (SELECT least(min(run) FILTER (WHERE finished_at > now() - $2::interval), max(run)) FROM reconciliation_runs
				WHERE finished_at IS NOT NULL)
		GROUP BY 1, 2 ORDER BY 1, 2`, passing, lately)
	return found, wrapped(err, "cannot read deviations")
}
