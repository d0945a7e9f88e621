package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// templating is the templates in the transaction of Apply: those of the file, and those
// that its sales give out.
type templating struct {
	tx    pgx.Tx
	file  map[string]coupon.Rule     // its rules, canonical
	done  map[string]AppliedTemplate // of the file
	new   map[string]bool            // template of each sale that changes; whether it is new to it
	moved map[string]bool            // sale whose template the file changes; whether it has its number
}

func newTemplating(tx pgx.Tx) *templating {
	return &templating{tx: tx, file: map[string]coupon.Rule{}, done: map[string]AppliedTemplate{}, new: map[string]bool{}, moved: map[string]bool{}}
}

// prepare inserts a template that is not there.
func (t *templating) prepare(ctx context.Context, r coupon.Rule) error {
	if err := r.Validate(); err != nil {
		return err
	}
	created, err := insertTemplate(ctx, t.tx, r, "")
	if err != nil {
		return err
	}
	t.file[r.ID] = r
	t.done[r.ID] = AppliedTemplate{ID: r.ID, Change: Unchanged}
	if created {
		t.done[r.ID] = AppliedTemplate{ID: r.ID, Change: Created}
		return nil
	}
	row, err := oneTemplate(ctx, t.tx, r.ID)
	if err == nil && row.SaleID != "" && len(t.changes(row)) > 0 {
		t.moved[row.SaleID] = false
	}
	return err
}

// announced are the sales whose entries the file changes by their templates.
func (t *templating) announced() []string { return slices.Collect(maps.Keys(t.moved)) }

// announce numbers a sale behind its gate if its template changes: the entry that has the
// new rule must be newer than the one that every store has. Nobody hears of a retired one.
func (t *templating) announce(ctx context.Context, saleID string) error {
	if _, moves := t.moved[saleID]; !moves {
		return nil
	}
	if _, err := t.tx.Exec(ctx, closeGate, saleID); err != nil {
		return fmt.Errorf("close gate: %w", err)
	}
	_, err := t.tx.Exec(ctx, `UPDATE sales SET rev = rev + 1 WHERE sale_id = $1 AND NOT retired`, saleID)
	t.moved[saleID] = err == nil
	return err
}

func (t *templating) applied(id string) AppliedTemplate { return t.done[id] }

// give has a sale of coupons be what its template says, or refuses it.
func (t *templating) give(ctx context.Context, c *SaleConfig) error {
	if c.Kind != sale.KindCoupon {
		return nil
	}
	row, err := oneTemplate(ctx, t.tx, c.Template)
	switch {
	case errors.Is(err, ErrNoTemplate):
		return fmt.Errorf("template: %w: write it under coupon_templates", err)
	case err != nil:
		return err
	case row.SaleID != "" && row.SaleID != c.ID:
		return fmt.Errorf("template: %s is given out by sale %s, and by one sale at most, for good: copy it "+
			"(POST /admin/v1/templates/%s/copy, or under another id in the sales file), and name the copy", c.Template, row.SaleID, c.Template)
	case c.PriceMinor != 0:
		return errors.New("price: a coupon has none")
	}
	if r, ok := t.file[c.Template]; ok {
		row.Rule = r
	}
	if c.SKU, c.Currency = c.Template, cmp.Or(c.Currency, row.Currency); c.Currency != row.Currency {
		return fmt.Errorf("currency: is %s, and that of template %s is %s", c.Currency, c.Template, row.Currency)
	}
	return nil
}

// expect notes a sale that is changed, and whether its template is new to it.
func (t *templating) expect(id string, fresh bool) {
	if id != "" {
		t.new[id] = fresh || t.new[id]
	}
}

// finish changes the templates of the file, or says why they cannot change, and looks
// whether they are enough for the sales that were changed.
func (t *templating) finish(ctx context.Context, fixed *FixedError) error {
	ids := slices.Collect(maps.Keys(t.file))
	ids = slices.AppendSeq(ids, maps.Keys(t.new))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		refused, err := t.finishOne(ctx, id)
		if err != nil {
			return err
		}
		if len(refused) > 0 {
			fixed.Templates = append(fixed.Templates, FixedTemplate{id, refused})
		}
	}
	return nil
}

func (t *templating) finishOne(ctx context.Context, id string) ([]sale.FixedField, error) {
	row, err := oneTemplate(ctx, t.tx, id)
	if err != nil {
		return nil, err
	}
	_, given := t.new[id]
	if !given && len(t.changes(row)) == 0 {
		return nil, nil
	}
	if row, err = lockTemplate(ctx, t.tx, id); err != nil {
		return nil, err
	}
	changes := t.changes(row) // as it is now
	if len(changes) > 0 && row.SaleID != "" && !given && !t.moved[row.SaleID] {
		return nil, errStartOver // a sale was given it meanwhile, or it has changed: then the sale is to have a number
	}
	by, err := givenOutBy(ctx, t.tx, id)
	if err != nil {
		return nil, err
	}
	after := row
	if len(changes) > 0 {
		after.Rule = t.file[id]
	}
	if refused := by.refuses(row, after.Rule, changes); len(refused) > 0 {
		return refused, nil
	}
	if given {
		if err := by.enough(after, t.new[id]); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	t.done[id] = AppliedTemplate{ID: id, Change: Updated, Fields: changes}
	if err := updateTemplate(ctx, t.tx, after.Rule); err != nil {
		return nil, fmt.Errorf("template %s: %w", id, err)
	}
	return nil, record(ctx, t.tx, sale.Actor{Who: applier}, sale.ActionTemplateApply, row.SaleID, id, recorded(changes))
}

// rules has the entries that are told of say what the templates are now: they were
// read before those changed.
func (t *templating) rules(ctx context.Context, applied AppliedCatalogue) (err error) {
	for i, a := range applied.Sales {
		if a.Entry.Template == "" {
			continue
		}
		if applied.Sales[i].Entry, err = oneEntry(ctx, t.tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, a.SaleID); err != nil {
			return err
		}
	}
	for i, a := range applied.Templates {
		if a.Change != Updated {
			continue
		}
		e, err := oneEntry(ctx, t.tx, `SELECT `+entryColumns+` FROM sales WHERE template_id = $1`, a.ID)
		if err != nil && !errors.Is(err, ErrNoSale) {
			return err
		}
		applied.Templates[i].Entry = e
	}
	return nil
}

// changes are what the file changes of a template; none if it does not mention it.
func (t *templating) changes(row coupon.Standing) []sale.FieldChange {
	r, ok := t.file[row.ID]
	if !ok {
		return nil
	}
	return ruleChanges(row.Rule, r)
}

// giver is the sale that gives out a template, if there is one.
type giver struct {
	saleID   string // "" for none
	loaded   bool
	units    int64
	currency string
}

func givenOutBy(ctx context.Context, tx pgx.Tx, templateID string) (g giver, err error) {
	err = tx.QueryRow(ctx, `
		SELECT s.sale_id, s.epoch > 0, t.total, s.currency FROM sales s JOIN sale_stock t ON t.sale_id = s.sale_id
		WHERE s.template_id = $1`, templateID).Scan(&g.saleID, &g.loaded, &g.units, &g.currency)
	if errors.Is(err, pgx.ErrNoRows) {
		return giver{}, nil
	}
	return g, err
}

// refuses says which of the changes from a template to next cannot be.
func (g giver) refuses(t coupon.Standing, next coupon.Rule, changes []sale.FieldChange) (refused []sale.FixedField) {
	for _, c := range changes {
		why := ""
		switch {
		case c.Field == "total" && next.Total < t.Issued:
			why = fmt.Sprintf("%d of its coupons are given out, and it cannot have fewer", t.Issued)
		case c.Field == "total" && next.Total < t.Total && next.Total < g.units:
			why = fmt.Sprintf("sale %s has %d units of it: %s first", g.saleID, g.units, g.lower())
		case c.Field == "currency" && g.saleID != "" && next.Currency != g.currency:
			why = fmt.Sprintf("sale %s gives it out in %s: copy the template for another currency", g.saleID, g.currency)
		}
		if why != "" {
			refused = append(refused, sale.FixedField{FieldChange: c, Reason: why})
		}
	}
	return refused
}

func (g giver) lower() string {
	if g.loaded {
		return "take some away by POST /admin/v1/sales/" + g.saleID + "/stock"
	}
	return "lower the total of the sale"
}

// enough refuses a sale that its template is not enough for; fresh if it is new to it.
func (g giver) enough(t coupon.Standing, fresh bool) error {
	switch {
	case fresh && t.OffShelf():
		return fmt.Errorf("sale %s: template: %s is off the shelf since %s: copy it, and name the copy", g.saleID, t.ID, bound(t.OffShelfAt))
	case g.units > t.Total:
		return fmt.Errorf("sale %s: total: %d units, and template %s has %d coupons: lower it, or raise the total of the template", g.saleID, g.units, t.ID, t.Total)
	}
	return nil
}

// takenMeanwhile is errStartOver for a template that another sale was given since it was
// looked at: the next look names that sale.
func takenMeanwhile(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "sales_template" {
		return fmt.Errorf("%w: %w", errStartOver, err)
	}
	return err
}
