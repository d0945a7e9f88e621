package pgstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Classes of SQLSTATE that blame the data of a statement, not the moment.
const (
	classDataException       = "22"
	classConstraintViolation = "23"
)

// invalid reports whether the database refused a row for what is in it, so that
// no repetition will help. The stock row is the sale's and the template is many coupons',
// not the reservation's.
func invalid(err error) bool {
	var pg *pgconn.PgError
	return refused(err) && errors.As(err, &pg) && pg.TableName != "sale_stock" && pg.TableName != "coupon_templates"
}

// refused reports whether the database refused what a statement was to write.
func refused(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return strings.HasPrefix(pg.Code, classDataException) || strings.HasPrefix(pg.Code, classConstraintViolation)
}

const maxReason = 500 // characters of a dead letter's reason

// reasonOf says why in words that a database of any encoding takes.
func reasonOf(cause error) string {
	reason := cause.Error()
	var pg *pgconn.PgError
	if errors.As(cause, &pg) {
		reason = fmt.Sprintf("SQLSTATE %s: %s", pg.Code, pg.Message) // without the detail, which shows the row
	}
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, reason)
	return printable[:min(len(printable), maxReason)]
}
