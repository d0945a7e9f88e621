package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"sluice/shared/sale"
)

const (
	conditionalUpdateName = "conditional_update"
	uniqueViolation       = "23505"
)

// conditionalUpdate is the shop done right in the database: the stock is lowered where it
// is above zero, and a unique key lets nobody have two.
type conditionalUpdate struct{}

func (conditionalUpdate) Name() string { return conditionalUpdateName }

func (conditionalUpdate) Notes() []string {
	return []string{fmt.Sprintf("%s: %d HTTP servers, processes of their own, each with %d connections to the same Postgres, in a schema of the run's own. An attempt is one transaction (READ COMMITTED): "+
		"UPDATE stock SET stock = stock - 1 WHERE stock > 0; if that is no row, 409; INSERT an order, unique by sale and buyer; if there is one, ROLLBACK, 200; COMMIT, 201. "+
		"It is correct. The stock's row is locked from the update until the commit is on disk, so that orders follow each other; once it is sold out each attempt still asks the database.",
		conditionalUpdateName, goodsInstances, goodsConns)}
}

func (conditionalUpdate) Open(ctx context.Context, site Site, sales []Sale) (Shop, error) {
	return openInDatabase(ctx, site, conditionalUpdateName, "UNIQUE INDEX", sales)
}

type conditionalUpdates struct{ pool *pgxpool.Pool }

func openConditionalUpdate(ctx context.Context, on backends) (decider, error) {
	pool, err := goodsPool(ctx, on.postgres)
	if err != nil {
		return nil, err
	}
	return conditionalUpdates{pool}, nil
}

func (c conditionalUpdates) close() { c.pool.Close() }

func (c conditionalUpdates) decide(ctx context.Context, saleID, userID string) (sale.Outcome, error) {
	return takeOne(ctx, c.pool, "compare_"+conditionalUpdateName, saleID, userID)
}

// errSoldOut ends the transaction of an attempt for which there is no unit.
var errSoldOut = errors.New("sold out")

// takeOne takes a unit out of the stock and makes its order, in one transaction.
func takeOne(ctx context.Context, pool *pgxpool.Pool, schema, saleID, userID string) (sale.Outcome, error) {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		taken, err := tx.Exec(ctx, `UPDATE `+schema+`.stock SET stock = stock - 1 WHERE sale_id = $1 AND stock > 0`, saleID)
		if err != nil {
			return err
		}
		if taken.RowsAffected() == 0 {
			return errSoldOut
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+schema+`.orders (sale_id, user_id, amount, currency) VALUES ($1, $2, 100, 'CNY')`, saleID, userID)
		return err
	})
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return sale.Confirmed, nil
	case errors.Is(err, errSoldOut):
		return sale.SoldOut, nil
	case errors.As(err, &refused) && refused.Code == uniqueViolation:
		return sale.Replay, nil
	default:
		return 0, fmt.Errorf("cannot sell: %w", err)
	}
}
