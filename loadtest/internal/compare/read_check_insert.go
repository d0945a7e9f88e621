package compare

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"sluice/shared/sale"
)

const readCheckInsertName = "read_check_insert"

// readCheckInsert is the shop as it is first written: it reads the stock, looks whether
// there is some, inserts an order, and writes the stock that it has read, less one.
type readCheckInsert struct{}

func (readCheckInsert) Name() string { return readCheckInsertName }

func (readCheckInsert) Notes() []string {
	return []string{fmt.Sprintf("%s: %d HTTP servers, processes of their own, each with %d connections to the same Postgres, in a schema of the run's own. An attempt is one transaction (READ COMMITTED, the default): "+
		"SELECT the stock; if there is none, 409; SELECT the buyer's order; if there is one, 200; INSERT an order; UPDATE the stock to what was read, less one; COMMIT, 201. There is no lock, no condition and no unique key: "+
		"of two that read the same stock, one's unit is forgotten. So it sells on, and its last order row comes late for two reasons: it makes more orders than there are units, and each costs a commit. "+
		"until_units_s is when it had made as many orders as there are units.", readCheckInsertName, goodsInstances, goodsConns)}
}

func (readCheckInsert) Open(ctx context.Context, site Site, sales []Sale) (Shop, error) {
	return openInDatabase(ctx, site, readCheckInsertName, "INDEX", sales)
}

type readCheckInserts struct{ pool *pgxpool.Pool }

func openReadCheckInsert(ctx context.Context, on backends) (decider, error) {
	pool, err := goodsPool(ctx, on.postgres)
	if err != nil {
		return nil, err
	}
	return readCheckInserts{pool}, nil
}

func (r readCheckInserts) close() { r.pool.Close() }

func (r readCheckInserts) decide(ctx context.Context, saleID, userID string) (outcome sale.Outcome, err error) {
	const schema = "compare_" + readCheckInsertName
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		var stock int64
		if err := tx.QueryRow(ctx, `SELECT stock FROM `+schema+`.stock WHERE sale_id = $1`, saleID).Scan(&stock); err != nil {
			return err
		}
		if stock <= 0 {
			outcome = sale.SoldOut
			return nil
		}
		var has bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+schema+`.orders WHERE sale_id = $1 AND user_id = $2)`, saleID, userID).Scan(&has); err != nil {
			return err
		}
		if has {
			outcome = sale.Replay
			return nil
		}
		if _, err := tx.Exec(ctx, `INSERT INTO `+schema+`.orders (sale_id, user_id, amount, currency) VALUES ($1, $2, 100, 'CNY')`, saleID, userID); err != nil {
			return err
		}
		outcome = sale.Confirmed
		_, err := tx.Exec(ctx, `UPDATE `+schema+`.stock SET stock = $2 WHERE sale_id = $1`, saleID, stock-1)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot sell: %w", err)
	}
	return outcome, nil
}
