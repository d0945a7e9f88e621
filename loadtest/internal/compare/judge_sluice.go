package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// facts are what Postgres says of a template that Sluice gave out, as of one moment.
type facts struct {
	Of Sale
	given
	SharedSlots int64             // slots of a user that more than one coupon has
	Orders      int64             // not rejected
	NoOrder     int64             // coupons without such an order of the same user and slot
	NoCoupon    int64             // such orders without their coupon
	Outcomes    map[string][]bool // by rid, an entry a row: whether it was given a coupon
}

// facts reads everything that a template is judged by.
func (j judge) facts(ctx context.Context, t Sale) (f facts, err error) {
	f.Of = t
	err = j.inOneMoment(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if f.given, err = j.count(ctx, tx, t); err != nil {
			return err
		}
		if err := j.match(ctx, tx, &f); err != nil {
			return err
		}
		f.Outcomes, err = j.outcomes(ctx, tx, t)
		return err
	})
	return f, err
}

// match counts what coupons and orders have in common, and what not.
func (j judge) match(ctx context.Context, tx pgx.Tx, f *facts) error {
	orders, coupons := j.table("orders"), j.table("coupons")
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM (SELECT 1 FROM `+coupons+` WHERE template_id = $1 GROUP BY user_id, slot HAVING count(*) > 1) AS shared),
			(SELECT count(*) FROM `+orders+` WHERE sale_id = $1 AND state <> 'rejected'),
			(SELECT count(*) FROM `+coupons+` AS c WHERE template_id = $1 AND NOT EXISTS (SELECT 1 FROM `+orders+` AS o
				WHERE o.id = c.id AND o.sale_id = $1 AND o.user_id = c.user_id AND o.slot = c.slot AND o.state <> 'rejected')),
			(SELECT count(*) FROM `+orders+` AS o WHERE sale_id = $1 AND state <> 'rejected' AND NOT EXISTS (SELECT 1 FROM `+coupons+` AS c
				WHERE c.id = o.id AND c.template_id = $1))`,
		f.Of.ID).Scan(&f.SharedSlots, &f.Orders, &f.NoOrder, &f.NoCoupon)
	if err != nil {
		return fmt.Errorf("cannot match orders and coupons of %s: %w", f.Of.ID, err)
	}
	return nil
}

// outcomes reads what became of each reservation.
func (j judge) outcomes(ctx context.Context, tx pgx.Tx, t Sale) (map[string][]bool, error) {
	rows, err := tx.Query(ctx, `SELECT id::text, state <> 'rejected' FROM `+j.table("orders")+` WHERE sale_id = $1`, t.ID)
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of %s: %w", t.ID, err)
	}
	var (
		all   = make(map[string][]bool)
		rid   string
		given bool
	)
	_, err = pgx.ForEachRow(rows, []any{&rid, &given}, func() error {
		all[rid] = append(all[rid], given)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read orders of %s: %w", t.ID, err)
	}
	return all, nil
}

// violations holds the facts against the invariants, and against what buyers were told.
func (f facts) violations(told []record.Winner) []sale.Violation {
	var all []sale.Violation
	check := func(holds bool, invariant, format string, args ...any) {
		if !holds {
			all = append(all, sale.Violation{Invariant: invariant, Detail: "template " + f.Of.ID + ": " + fmt.Sprintf(format, args...)})
		}
	}
	check(f.Total == int64(f.Of.Total), "I1", "its total is %d, was configured as %d", f.Total, f.Of.Total)
	check(f.Issued <= f.Total, "I1", "%d coupons were issued of %d", f.Issued, f.Total)
	check(f.Doubles == 0, "I2", "%d coupons are beyond the %d that a user may have", f.Doubles, f.Of.Limit)
	check(f.SharedSlots == 0, "I2", "%d slots of a user have more than one coupon", f.SharedSlots)
	check(f.Recorded == f.Issued && f.Issued == f.Orders, "I4", "the template counts %d, there are %d coupons and %d orders that are not rejected", f.Recorded, f.Issued, f.Orders)
	check(f.NoOrder == 0, "I6", "%d coupons have no order of their user and slot", f.NoOrder)
	check(f.NoCoupon == 0, "I3", "%d orders that are not rejected have no coupon", f.NoCoupon)
	without, several, otherwise := f.promised(told)
	check(without == nil, "I3", "answered 202, without an outcome in Postgres: %s", some(without))
	check(several == nil, "I3", "answered 202, with more than one outcome: %s", some(several))
	check(otherwise == nil, "I3", "told otherwise than Postgres says: %s", some(otherwise))
	return all
}

// promised are the reservations answered 202 that have no outcome, several, or one that
// is not what their ticket told.
func (f facts) promised(told []record.Winner) (without, several, otherwise []string) {
	for _, w := range told {
		if !w.Accepted {
			continue
		}
		switch rows := f.Outcomes[w.RID]; {
		case len(rows) == 0:
			without = append(without, w.RID)
		case len(rows) > 1:
			several = append(several, w.RID)
		case rows[0] != holds(w.Last()):
			otherwise = append(otherwise, fmt.Sprintf("%s (%s)", w.RID, w.Last()))
		}
	}
	return without, several, otherwise
}

// holds says whether a ticket of that status stands for a coupon that is held.
func holds(s sale.Status) bool { return s == sale.StatusConfirmed || s == sale.StatusPaid }

// some names the first of many.
func some(rids []string) string {
	const most = 5
	slices.Sort(rids)
	if more := len(rids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(rids[:most], ", "), more)
	}
	return strings.Join(rids, ", ")
}
