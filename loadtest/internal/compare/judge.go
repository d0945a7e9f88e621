package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const judgeTimeout = time.Minute // it reads whole tables beside a database that may be busy

// given is what Postgres says was given out of a template, by whichever system.
type given struct {
	Total    int64
	Recorded int64 // coupons given out, as the template's row has it
	Issued   int64 // rows of coupons
	Doubles  int64 // rows beyond what their user may have
	Last     time.Time
}

// over is how many coupons there should not be.
func (g given) over() int64 { return max(0, g.Issued-g.Total) }

// judge reads the tables of a schema. It knows nothing of who wrote them.
type judge struct {
	db     *pgx.Conn
	schema string
}

// inOneMoment reads as of one moment, and can write nothing.
func (j judge) inOneMoment(ctx context.Context, read func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if err := pgx.BeginTxFunc(ctx, j.db, options, func(tx pgx.Tx) error { return read(ctx, tx) }); err != nil {
		return fmt.Errorf("cannot judge schema %s: %w", j.schema, err)
	}
	return nil
}

// table names a table of the schema in a statement.
func (j judge) table(name string) string { return pgx.Identifier{j.schema, name}.Sanitize() }

// given counts what was given out of a template.
func (j judge) given(ctx context.Context, t Sale) (g given, err error) {
	err = j.inOneMoment(ctx, func(ctx context.Context, tx pgx.Tx) error {
		g, err = j.count(ctx, tx, t)
		return err
	})
	return g, err
}

func (j judge) count(ctx context.Context, tx pgx.Tx, t Sale) (g given, err error) {
	err = tx.QueryRow(ctx, `SELECT total, issued FROM `+j.table("coupon_templates")+` WHERE template_id = $1`, t.ID).Scan(&g.Total, &g.Recorded)
	if err != nil {
		return g, fmt.Errorf("cannot read template %s: %w", t.ID, err)
	}
	err = tx.QueryRow(ctx, `
		SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(greatest(n - $2, 0)), 0)::bigint, coalesce(max(last), 'epoch')
		FROM (SELECT count(*) AS n, max(issued_at) AS last FROM `+j.table("coupons")+` WHERE template_id = $1 GROUP BY user_id) AS held`,
		t.ID, t.Limit).Scan(&g.Issued, &g.Doubles, &g.Last)
	if err != nil {
		return g, fmt.Errorf("cannot count coupons of %s: %w", t.ID, err)
	}
	return g, nil
}
