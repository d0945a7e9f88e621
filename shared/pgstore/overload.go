package pgstore

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Overloaded reports whether a call failed because the database had no time or no
// room left for it: a timeout, too many connections, or another resource used up.
func Overloaded(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "57014" || pg.Code == "55P03" || strings.HasPrefix(pg.Code, "53") // query_canceled, lock_not_available, insufficient resources
	}
	return errors.Is(err, context.DeadlineExceeded)
}
