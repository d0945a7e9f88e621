package bench

import (
	"context"

	"sluice/loadtest/internal/usage"
)

// rawInserts inserts the rows that the worker has just made once more, into a copy
// of the table that holds what the table held before: most of them in batches,
// then the rest one a transaction, each over one connection, like the worker's.
func (b *bench) rawInserts(ctx context.Context, saleID string, f figures) error {
	if err := b.rows.FillCopy(ctx, saleID); err != nil {
		return err
	}
	rows, err := b.rows.Rows(ctx, saleID)
	if err != nil {
		return err
	}
	batched := len(rows) * 3 / 4
	before, err := usage.Family(b.Stack.Postgres.PID)
	if err != nil {
		return err
	}
	rate, err := b.rows.InsertBatches(ctx, saleID, rows[:batched])
	if err != nil {
		return err
	}
	after, err := usage.Family(b.Stack.Postgres.PID)
	if err != nil {
		return err
	}
	processTimes{"postgres": after}.since(processTimes{"postgres": before}, batched, rawBatchName, f)
	b.took(rawBatchName, rate, f)
	if rate, err = b.rows.InsertOneByOne(ctx, saleID, rows[batched:], b.Stage); err != nil {
		return err
	}
	b.took(onePerTxName, rate, f)
	return nil
}
