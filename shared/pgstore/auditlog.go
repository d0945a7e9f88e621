package pgstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// record writes a change into the audit log, in the transaction that makes it.
func record(ctx context.Context, tx pgx.Tx, by sale.Actor, action sale.Action, saleID, subject string, changed fields) error {
	before, after := make(map[string]any, len(changed)), make(map[string]any, len(changed))
	for name, values := range changed {
		before[name], after[name] = values[0], values[1]
	}
	encoded, err := json.Marshal([]any{before, after})
	if err != nil {
		return fmt.Errorf("encode change: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO audit_log (who, operator, address, action, sale_id, subject, before, after)
		VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb -> 0, $7::jsonb -> 1)`,
		by.Who, by.Operator, by.Address, action, saleID, subject, string(encoded))
	if err != nil {
		return fmt.Errorf("record change: %w", err)
	}
	return nil
}

// AuditLog returns a page of changes by operators, newest first, of one sale, or of
// all when saleID is "".
func (s *Store) AuditLog(ctx context.Context, saleID string, p sale.Page) ([]sale.Change, error) {
	changes, err := read(ctx, s, scanChange, `
		SELECT id, at, who, operator, address, action, sale_id, subject, before, after FROM audit_log
		WHERE ($1 = '' OR sale_id = $1) AND ($2 = 0 OR id < $2) ORDER BY id DESC LIMIT $3`, saleID, p.Before, p.Limit)
	if err != nil {
		return nil, fmt.Errorf("cannot read audit log: %w", err)
	}
	return changes, nil
}

func scanChange(row pgx.CollectableRow) (sale.Change, error) {
	var c sale.Change
	err := row.Scan(&c.ID, &c.At, &c.By.Who, &c.By.Operator, &c.By.Address, &c.Action, &c.SaleID, &c.Subject, &c.Before, &c.After)
	c.At = c.At.UTC()
	return c, err
}
