package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
)

// Refusals of a call about a template.
var (
	ErrNoTemplate    = errors.New("no such template")
	ErrTemplateTaken = errors.New("the template's id is taken by another rule")
	ErrOffShelf      = errors.New("the sale's template is off the shelf")
	ErrTemplateTotal = errors.New("the sale's template does not have that many coupons")
)

// templateColumns are the columns scanTemplate expects of coupon_templates t, in order.
const templateColumns = `t.template_id, t.kind, t.value, t.min_amount, t.total, t.issued, t.terms, coalesce(t.copied_from, ''), t.off_shelf_at,
	coalesce((SELECT s.sale_id FROM sales s WHERE s.template_id = t.template_id), ''), t.created_at, t.changed_at`

func scanTemplate(row pgx.CollectableRow) (coupon.Standing, error) {
	var t coupon.Standing
	err := row.Scan(&t.ID, &t.Kind, &t.Value, &t.MinAmountCents, &t.Total, &t.Issued, &t.Terms, &t.CopiedFrom, (*perhaps)(&t.OffShelfAt),
		&t.SaleID, &t.CreatedAt, &t.ChangedAt)
	t.CreatedAt, t.ChangedAt = t.CreatedAt.UTC(), t.ChangedAt.UTC()
	return t, err
}

// Templates returns every template by id.
func (s *Store) Templates(ctx context.Context) ([]coupon.Standing, error) {
	templates, err := read(ctx, s, scanTemplate, `SELECT `+templateColumns+` FROM coupon_templates t ORDER BY t.template_id`)
	if err != nil {
		return nil, fmt.Errorf("cannot read templates: %w", err)
	}
	return templates, nil
}

// oneTemplate reads a template; ErrNoTemplate if there is none.
func oneTemplate(ctx context.Context, tx pgx.Tx, id string) (coupon.Standing, error) {
	rows, err := tx.Query(ctx, `SELECT `+templateColumns+` FROM coupon_templates t WHERE t.template_id = $1`, id)
	if err != nil {
		return coupon.Standing{}, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanTemplate)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, fmt.Errorf("%w: %s", ErrNoTemplate, id)
	}
	return t, err
}

// lockTemplate makes the transaction the only one that gives out coupons of a template,
// or changes it, and returns it as it is then.
func lockTemplate(ctx context.Context, tx pgx.Tx, id string) (coupon.Standing, error) {
	if _, err := tx.Exec(ctx, `SELECT FROM coupon_templates WHERE template_id = $1 FOR NO KEY UPDATE`, id); err != nil {
		return coupon.Standing{}, err
	}
	return oneTemplate(ctx, tx, id) // another statement, which sees what the lock waited for
}

// insertTemplate reports whether there was no such template.
func insertTemplate(ctx context.Context, tx pgx.Tx, r coupon.Rule, copiedFrom string) (created bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO coupon_templates (template_id, kind, value, min_amount, total, terms, copied_from)
		VALUES ($1, $2, $3, $4, $5, $6, nullif($7, '')) ON CONFLICT (template_id) DO NOTHING`,
		r.ID, r.Kind, r.Value, r.MinAmountCents, r.Total, r.Terms, copiedFrom)
	return tag.RowsAffected() == 1, err
}

// updateTemplate makes a template what r says, and no coupon that was given out.
func updateTemplate(ctx context.Context, tx pgx.Tx, r coupon.Rule) error {
	_, err := tx.Exec(ctx, `
		UPDATE coupon_templates SET kind = $2, value = $3, min_amount = $4, total = $5, terms = $6, changed_at = now()
		WHERE template_id = $1`, r.ID, r.Kind, r.Value, r.MinAmountCents, r.Total, r.Terms)
	return err
}

// canonicalRule is r as Postgres keeps it: no nil list, times in UTC, nothing given out.
func canonicalRule(r coupon.Rule) coupon.Rule {
	r.Issued = 0
	r.Scope.Merchants = append([]string{}, r.Scope.Merchants...)
	r.Scope.SKUs = append([]string{}, r.Scope.SKUs...)
	r.Scope.Categories = append([]string{}, r.Scope.Categories...)
	r.StackWith = append([]string{}, r.StackWith...)
	r.Bearers = append([]coupon.Bearer{}, r.Bearers...)
	r.StartsAt, r.EndsAt = r.StartsAt.UTC().Truncate(time.Microsecond), r.EndsAt.UTC().Truncate(time.Microsecond)
	return r
}
