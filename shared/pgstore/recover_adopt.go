package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// Adopt takes over what the catalogue says of a sale and Postgres has forgotten, and
// the epoch that Redis is live at, 0 when at none. Hand-overs of epochs that are forgotten too are
// superseded from here on, unless they are decided: those that were ordered have a
// ticket in the epoch that is live, and get their row from it. When Redis is not live at the
// latest epoch there is no such ticket: the sale is left in rebuild, and they are ordered.
// Whether users are on the allow list is for RestoreAllowList.
func (s *Store) Adopt(ctx context.Context, known sale.Entry, live int64) (sale.Entry, error) {
	var entry sale.Entry
	epoch := max(known.Epoch, live)
	err := s.changeSale(ctx, known.ID, func(ctx context.Context, tx pgx.Tx) (err error) {
		if err := adoptTemplate(ctx, tx, known); err != nil {
			return err
		}
		if _, err := insertSale(ctx, tx, canonical(SaleConfig{Sale: known.Sale})); err != nil {
			return err
		}
		if err := adoptConfig(ctx, tx, known); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO rebuilds (sale_id, epoch, last_seq)
			SELECT sale_id, $2, 0 FROM sales WHERE sale_id = $1 AND epoch > 0 AND epoch < $2 AND $2 = $3
			ON CONFLICT DO NOTHING`, known.ID, epoch, live); err != nil {
			return err
		}
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET epoch = greatest(epoch, $2), rev = greatest(rev, $4) + 1,
				rebuilding = CASE WHEN epoch < $2 THEN $7 < $2 AND NOT $6 ELSE rebuilding END,
				loading_epoch = CASE WHEN epoch < $2 THEN $2 ELSE loading_epoch END,
				paused = CASE WHEN (epoch, rev) < ($3::bigint, $4::bigint) THEN $5 ELSE paused END,
				retired = CASE WHEN (epoch, rev) < ($3::bigint, $4::bigint) THEN $6 ELSE retired END
			WHERE sale_id = $1 AND (epoch < $2 OR (epoch, rev) < ($3::bigint, $4::bigint)) RETURNING `+entryColumns,
			known.ID, epoch, known.Epoch, known.Rev, known.Paused, known.Retired, live)
		if errors.Is(err, ErrNoSale) { // nothing to take over
			entry, err = oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, known.ID)
		}
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot adopt sale %s: %w", known.ID, err)
	}
	return entry, nil
}

// knownRule is a template as its sale's Entry.Rule has it.
type knownRule struct {
	coupon.Snapshot
	Total      int64      `json:"total"`
	OffShelfAt *time.Time `json:"off_shelf_at"` // nil while it is on the shelf
}

// adoptTemplate makes the template of a sale of coupons what the sale's entry says of it, if
// there is none, or if the entry is newer than the sale here. What is given out stays within
// its total, and so do the units that the sale has here; off the shelf it stays, for good. ErrNoTemplate if the entry
// says nothing and there is none: then the sales file has to bring it, before anybody's
// coupons can be made again.
func adoptTemplate(ctx context.Context, tx pgx.Tx, known sale.Entry) error {
	if known.Template == "" {
		return nil
	}
	if len(known.Rule) == 0 {
		_, err := oneTemplate(ctx, tx, known.Template)
		return err
	}
	r, offShelf, err := ruleOf(known)
	if err != nil {
		return err
	}
	created, err := insertTemplate(ctx, tx, r, "")
	if err == nil && !created {
		err = adoptRule(ctx, tx, known, r)
	}
	if err != nil || offShelf == nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE coupon_templates SET off_shelf_at = $2, changed_at = now() WHERE template_id = $1 AND off_shelf_at IS NULL`, r.ID, offShelf)
	return err
}

// adoptRule takes over the rule of an entry that is newer than the sale here.
func adoptRule(ctx context.Context, tx pgx.Tx, known sale.Entry, r coupon.Rule) error {
	var behind bool
	err := tx.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM sales WHERE sale_id = $1 AND (epoch, rev) >= ($2::bigint, $3::bigint))`,
		known.ID, known.Epoch, known.Rev).Scan(&behind)
	if err != nil || !behind {
		return err
	}
	row, err := lockTemplate(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	by, err := givenOutBy(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if r.Total = max(r.Total, row.Issued, by.units); len(ruleChanges(row.Rule, r)) == 0 {
		return nil
	}
	return updateTemplate(ctx, tx, r)
}

// ruleOf is the rule of an entry's template, and since when it is off the shelf. One that no template may have is refused, for
// jobs and checkouts could not read its coupons.
func ruleOf(known sale.Entry) (coupon.Rule, *time.Time, error) {
	var k knownRule
	if err := json.Unmarshal(known.Rule, &k); err != nil {
		return coupon.Rule{}, nil, fmt.Errorf("template %s: %w", known.Template, err)
	}
	r := canonicalRule(coupon.Rule{
		Template: coupon.Template{ID: known.Template, Kind: k.Kind, Value: k.Value, MinAmountCents: k.MinAmountCents, Total: k.Total},
		Terms:    k.Terms,
	})
	if err := r.Validate(); err != nil {
		return r, nil, fmt.Errorf("template %s: %w", known.Template, err)
	}
	return r, k.OffShelfAt, nil
}

// adoptConfig takes over a newer configuration. An entry has the window that an early end
// has left of the configured one; that end comes along, so that it is not lifted by the
// next sales file.
func adoptConfig(ctx context.Context, tx pgx.Tx, known sale.Entry) error {
	c := canonical(SaleConfig{Sale: known.Sale})
	var closed *time.Time
	if !known.ClosedAt.IsZero() {
		closed = &known.ClosedAt
	}
	if _, err := tx.Exec(ctx, `
		UPDATE sale_stock t SET total = $2 FROM sales s
		WHERE t.sale_id = $1 AND s.sale_id = $1 AND s.epoch = 0 AND (s.epoch, s.rev) < ($3::bigint, $4::bigint)`,
		c.ID, c.Total, known.Epoch, known.Rev); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE sales SET kind = $2, title = $3, sku = $4, total = $5, price = $6, currency = $7, per_user_limit = $8,
			opens_at = CASE WHEN $9 = $23::timestamptz - interval '1 millisecond' THEN opens_at ELSE $9 END,
			closes_at = CASE WHEN $23 IS NULL THEN $10 ELSE greatest(closes_at, $10) END, closed_at = coalesce($23, closed_at),
			hold = $11, mode = $12, rebuy_after_release = $13, weight = $14,
			min_account_age = $15, min_paid_orders = $16, tags = $17, has_allow_list = $18, titles = $19, template_id = nullif($20, '')
		WHERE sale_id = $1 AND (epoch, rev) < ($21::bigint, $22::bigint)`,
		append(saleArgs(c), known.Epoch, known.Rev, closed)...)
	return err
}
