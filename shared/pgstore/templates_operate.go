package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// CreateTemplate makes a template, of which nothing is given out. created is false when it
// is there with the same rule. ErrTemplateTaken when it is there with another one.
func (s *Store) CreateTemplate(ctx context.Context, by sale.Actor, r coupon.Rule) (t coupon.Standing, created bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		t, created, err = makeTemplate(ctx, tx, by, r, "")
		return err
	})
	if err != nil {
		return coupon.Standing{}, false, fmt.Errorf("cannot create template %s: %w", r.ID, err)
	}
	return t, created, nil
}

// CopyTemplate makes a template with the rule of another, for another sale; of total
// coupons, or, with nil, as many as that one has. created is false when the copy is there.
// ErrNoTemplate; ErrTemplateTaken when id is another template's.
func (s *Store) CopyTemplate(ctx context.Context, by sale.Actor, from, id string, total *int64) (t coupon.Standing, created bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		source, err := oneTemplate(ctx, tx, from)
		if err != nil {
			return err
		}
		source.ID = id
		if total != nil {
			source.Total = *total
		}
		if t, created, err = makeTemplate(ctx, tx, by, source.Rule, from); err == nil && t.CopiedFrom != from {
			err = ErrTemplateTaken
		}
		return err
	})
	if err != nil {
		return coupon.Standing{}, false, fmt.Errorf("cannot copy template %s to %s: %w", from, id, err)
	}
	return t, created, nil
}

func makeTemplate(ctx context.Context, tx pgx.Tx, by sale.Actor, r coupon.Rule, from string) (t coupon.Standing, created bool, err error) {
	r = canonicalRule(r)
	if err := r.Validate(); err != nil {
		return t, false, err
	}
	if created, err = insertTemplate(ctx, tx, r, from); err != nil {
		return t, false, err
	}
	if t, err = oneTemplate(ctx, tx, r.ID); err != nil {
		return t, false, err
	}
	if !created {
		if len(ruleChanges(t.Rule, r)) > 0 {
			err = ErrTemplateTaken
		}
		return t, false, err
	}
	action, made := sale.ActionTemplateCreate, describeRule(r)
	if from != "" {
		action, made["copied_from"] = sale.ActionTemplateCopy, [2]any{nil, from}
	}
	return t, true, record(ctx, tx, by, action, "", r.ID, made)
}

// describeRule is all of a rule for the audit log, of a template that was not there.
func describeRule(r coupon.Rule) fields {
	all := make(fields, len(ruleFields))
	for _, f := range ruleFields {
		all[f.name] = [2]any{nil, f.text(r)}
	}
	return all
}

// TakeOffShelf has nobody claim of a template any more: its sale is paused in the same
// transaction, and a loop brings that to the other stores. What was accepted before is
// still given out. Repeated, it changes nothing. ErrNoTemplate.
func (s *Store) TakeOffShelf(ctx context.Context, by sale.Actor, id string) (t coupon.Standing, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if t, err = oneTemplate(ctx, tx, id); err != nil || t.OffShelf() {
			return err
		}
		if err := pauseSaleOf(ctx, tx, by, t); err != nil {
			return err
		}
		t, err = takeOffShelf(ctx, tx, by, t)
		return err
	})
	if err != nil {
		return coupon.Standing{}, fmt.Errorf("cannot take template %s off the shelf: %w", id, err)
	}
	return t, nil
}

// pauseSaleOf comes before the template's row is locked, as the gate does everywhere. One
// that is paused has a new rev too: its entry says that the template is off the shelf.
func pauseSaleOf(ctx context.Context, tx pgx.Tx, by sale.Actor, t coupon.Standing) error {
	if t.SaleID == "" {
		return nil
	}
	if _, err := tx.Exec(ctx, closeGate, t.SaleID); err != nil {
		return fmt.Errorf("close gate: %w", err)
	}
	var was bool
	err := tx.QueryRow(ctx, `
		UPDATE sales s SET paused = true, rev = s.rev + 1 FROM sales was
		WHERE s.sale_id = $1 AND was.sale_id = $1 AND NOT s.retired RETURNING was.paused`, t.SaleID).Scan(&was)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // nobody hears of a retired one
		return nil
	case err != nil || was:
		return err
	}
	return record(ctx, tx, by, sale.ActionPause, t.SaleID, t.ID, fields{"paused": {false, true}})
}

func takeOffShelf(ctx context.Context, tx pgx.Tx, by sale.Actor, seen coupon.Standing) (coupon.Standing, error) {
	now, err := lockTemplate(ctx, tx, seen.ID)
	switch {
	case err != nil:
		return now, err
	case now.SaleID != seen.SaleID:
		return now, errStartOver // a sale was given it meanwhile, and is to be paused
	case now.OffShelf():
		return now, nil
	}
	_, err = tx.Exec(ctx, `UPDATE coupon_templates SET off_shelf_at = now(), changed_at = now() WHERE template_id = $1`, seen.ID)
	if err != nil {
		return now, err
	}
	after, err := oneTemplate(ctx, tx, seen.ID)
	if err != nil {
		return after, err
	}
	return after, record(ctx, tx, by, sale.ActionTemplateOffShelf, after.SaleID, after.ID, fields{"off_shelf_at": {nil, bound(after.OffShelfAt)}})
}

// mayResume refuses, behind the gate, to resume a sale whose template is off the shelf.
func mayResume(ctx context.Context, tx pgx.Tx, e sale.Entry) error {
	if e.Template == "" {
		return nil
	}
	t, err := oneTemplate(ctx, tx, e.Template)
	if err == nil && t.OffShelf() {
		err = ErrOffShelf
	}
	return err
}

// couponsFor is how many units a sale may have: as many as its template has coupons, which
// stays so until the transaction ends, or, of goods, as any sale.
func couponsFor(ctx context.Context, tx pgx.Tx, saleID string) (limit int64, template string, err error) {
	if err := tx.QueryRow(ctx, `SELECT coalesce(template_id, '') FROM sales WHERE sale_id = $1`, saleID).Scan(&template); err != nil {
		return 0, "", fmt.Errorf("read template: %w", err)
	}
	if template == "" {
		return sale.MaxTotal, "", nil
	}
	t, err := lockTemplate(ctx, tx, template)
	return t.Total, template, err
}
