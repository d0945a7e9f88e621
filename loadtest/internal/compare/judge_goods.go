package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/record"
)

// sold is what Postgres says was sold in a sale of goods, by whichever system. A row's time
// is when its transaction began.
type sold struct {
	Orders  int64     // rows that are not rejected
	Doubles int64     // of them, those beyond what their buyer may have
	First   time.Time // of them
	Units   time.Time // when there were as many as the sale has units; zero if there never were
	Last    time.Time
}

// sold reads what was sold in a sale.
func (j judge) sold(ctx context.Context, at Sale) (s sold, err error) {
	err = j.inOneMoment(ctx, func(ctx context.Context, tx pgx.Tx) error {
		s, err = j.countOrders(ctx, tx, at)
		return err
	})
	return s, err
}

func (j judge) countOrders(ctx context.Context, tx pgx.Tx, at Sale) (s sold, err error) {
	orders := j.table("orders")
	var units *time.Time
	err = tx.QueryRow(ctx, `
		SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(greatest(n - $2, 0)), 0)::bigint, coalesce(min(first), 'epoch'), coalesce(max(last), 'epoch'),
			(SELECT created_at FROM `+orders+` WHERE sale_id = $1 AND state <> 'rejected' ORDER BY created_at OFFSET $3 LIMIT 1)
		FROM (SELECT count(*) AS n, min(created_at) AS first, max(created_at) AS last FROM `+orders+` WHERE sale_id = $1 AND state <> 'rejected' GROUP BY user_id) AS held`,
		at.ID, at.Limit, at.Total-1).Scan(&s.Orders, &s.Doubles, &s.First, &s.Last, &units)
	if err != nil {
		return s, fmt.Errorf("cannot count orders of %s: %w", at.ID, err)
	}
	if units != nil {
		s.Units = *units
	}
	return s, nil
}

// ordered counts the orders of a sale so far.
func (j judge) ordered(ctx context.Context, at Sale) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	if err := j.db.QueryRow(ctx, `SELECT count(*) FROM `+j.table("orders")+` WHERE sale_id = $1`, at.ID).Scan(&n); err != nil {
		return 0, fmt.Errorf("cannot count orders of %s: %w", at.ID, err)
	}
	return n, nil
}

// goods holds a sale of Sluice's against the invariants and what buyers were told: none too
// many, none twice, and one order for each 202. The audit says the rest.
func (r *run) goods(ctx context.Context, j judge, s selling, told []record.Winner) error {
	var f facts
	err := j.inOneMoment(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		f.Outcomes, err = j.outcomes(ctx, tx, s.Sale)
		return err
	})
	if err != nil {
		return err
	}
	if s.over() > 0 {
		r.wrongWith(s.ID, "I1", "%d orders of %d units", s.Orders, s.Total)
	}
	if s.Doubles > 0 {
		r.wrongWith(s.ID, "I2", "%d orders are beyond the %d that a buyer may have", s.Doubles, s.Limit)
	}
	without, several, _ := f.promised(told) // buyers did not ask again
	if without != nil {
		r.wrongWith(s.ID, "I3", "answered 202, without an order in Postgres: %s", some(without))
	}
	if several != nil {
		r.wrongWith(s.ID, "I3", "answered 202, with more than one order: %s", some(several))
	}
	return nil
}
