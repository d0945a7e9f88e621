package pgstore

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// What no statement of this package does, the schema still refuses.
func TestSchema_RefusesWhatWouldBreakAnInvariant(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 2)
	rs := reservations(3)
	order(t, s, batchOf("phone", rs...))
	for name, sql := range map[string]string{
		"sale_stock_never_oversold":       `UPDATE sale_stock SET held = 3`,
		"orders_slot":                     `UPDATE orders SET user_id = 'same' WHERE holds_slot`,
		"orders_open_holds":               `UPDATE orders SET holds_unit = false WHERE state = 'pending'`,
		"orders_closed_lets_go":           `UPDATE orders SET state = 'expired' WHERE state = 'pending'`,
		"orders_rejected_holds_nothing":   `UPDATE orders SET holds_unit = true WHERE state = 'rejected'`,
		"orders_rejected_has_reason":      `UPDATE orders SET reason = '' WHERE state = 'rejected'`,
		"orders_pending_has_deadline":     `UPDATE orders SET expires_at = NULL WHERE state = 'pending'`,
		"releases_gives_only_known_units": `UPDATE releases SET give = 1`,
		"releases_duplicate_has_holder":   `UPDATE releases SET reason = 'duplicate'`,
		"releases_rejected_has_reason":    `UPDATE releases SET status = 'expired'`,
	} {
		_, err := s.pool.Exec(t.Context(), sql)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.ConstraintName != name {
			t.Errorf("%s: error = %v, want a violation of %s", sql, err, name)
		}
	}
}
