package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// AuditCoupons holds the coupons that a sale gives out against their rules, with every
// order that has locked one and every row of the ledger: in Postgres, of which only
// counts and some of what is wrong come back. Nothing of a sale of goods. It takes as
// long as the context allows. ErrNoSale if there is none.
func (s *Store) AuditCoupons(ctx context.Context, saleID string) (sale.CouponEvidence, error) {
	return s.couponEvidence(ctx, saleID, ever)
}

// CouponHoldings is AuditCoupons as often as one likes: it counts those that were given
// out, and else looks at coupons that have changed and at orders within the last hour; it
// reads no quote, and holds the ledger against what orders were told, not against each of
// their lines.
func (s *Store) CouponHoldings(ctx context.Context, saleID string) (sale.CouponEvidence, error) {
	return s.couponEvidence(ctx, saleID, lastHour)
}

func (s *Store) couponEvidence(ctx context.Context, saleID string, within span) (e sale.CouponEvidence, err error) {
	err = s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		e, err = couponsOfSale(ctx, tx, saleID, within)
		return err
	})
	if err != nil {
		return sale.CouponEvidence{}, fmt.Errorf("cannot read the coupons of sale %s: %w", saleID, err)
	}
	return e, nil
}

func couponsOfSale(ctx context.Context, tx pgx.Tx, saleID string, within span) (e sale.CouponEvidence, err error) {
	entry, err := oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
	if err != nil || entry.Template == "" {
		return e, err
	}
	e.TemplateID = entry.Template
	if err := countCoupons(ctx, tx, within, &e); err != nil {
		return e, err
	}
	for _, check := range append(couponRowChecks(within), couponOrderChecks(within)...) {
		if check.quotes && within != ever {
			continue
		}
		if err := check.run(ctx, tx, &e); err != nil {
			return e, err
		}
	}
	return e, nil
}

// span is how far back it is looked.
type span string

const (
	ever     span = ""
	lastHour span = "1 hour"
)

// since is one more condition of a WHERE, that what has happened at column is within.
func (w span) since(column string) string {
	if w == ever {
		return ""
	}
	return ` AND ` + column + ` > now() - interval '` + string(w) + `'`
}

// countCoupons counts uses of those coupons only that have changed within the span: each
// of them has all of its events counted.
func countCoupons(ctx context.Context, tx pgx.Tx, within span, e *sale.CouponEvidence) error {
	return tx.QueryRow(ctx, `
		SELECT t.total, t.issued, u.total, o.holding, c.instances, r.redeemed, h.redemptions, h.returns
		FROM coupon_templates t, sales s, sale_stock u, LATERAL (
			SELECT count(*) AS holding FROM orders WHERE sale_id = s.sale_id AND holds_unit
		) o, LATERAL (
			SELECT count(*) AS instances FROM coupons WHERE template_id = t.template_id
		) c, LATERAL (
			SELECT count(*) AS redeemed FROM coupons c WHERE template_id = t.template_id AND state = 'redeemed'`+within.since("c.changed_at")+`
		) r, LATERAL (
			SELECT count(*) FILTER (WHERE event IN ('redeem', 'late_redeem')) AS redemptions, count(*) FILTER (WHERE event = 'return') AS returns
			FROM coupons c JOIN coupon_events e ON e.coupon_id = c.id WHERE template_id = t.template_id`+within.since("c.changed_at")+`
		) h
		WHERE t.template_id = $1 AND s.template_id = t.template_id AND u.sale_id = s.sale_id`, e.TemplateID).
		Scan(&e.Total, &e.Issued, &e.Units, &e.Holding, &e.Instances, &e.Redeemed, &e.Redemptions, &e.Returns)
}

// couponCheck finds the rows that break a rule.
type couponCheck struct {
	rule   sale.CouponRule
	quotes bool   // it reads the quotes of orders
	broken string // says of each row what is wrong with it; $1 is the template
}

func (c couponCheck) run(ctx context.Context, tx pgx.Tx, e *sale.CouponEvidence) error {
	fault := sale.CouponFault{Rule: c.rule}
	err := tx.QueryRow(ctx, `
		WITH broken (detail) AS MATERIALIZED (`+c.broken+`)
		SELECT (SELECT count(*) FROM broken), ARRAY(SELECT detail FROM broken ORDER BY detail LIMIT $2)`, e.TemplateID, sale.MaxNamed).
		Scan(&fault.Count, &fault.Named)
	if err != nil {
		return fmt.Errorf("check %s: %w", c.rule, err)
	}
	if fault.Count > 0 {
		e.Faults = append(e.Faults, fault)
	}
	return nil
}
