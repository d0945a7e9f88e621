package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// SaleConfig is a sale as its operator wrote it.
type SaleConfig struct {
	sale.Sale
	AllowList []string // user ids, any order; only if Eligibility.HasAllowList
}

// Catalogue is what a sales file says.
type Catalogue struct {
	Templates []coupon.Rule // Issued is not looked at
	Sales     []SaleConfig
}

// Change says what Apply did with a sale or a template.
type Change string

// Changes by Apply.
const (
	Created   Change = "created"
	Unchanged Change = "unchanged"
	Updated   Change = "updated"
)

// Applied is what Apply did with one sale.
type Applied struct {
	SaleID string
	Change Change
	Fields []sale.FieldChange // of an update, in the order of the sales file
	Entry  sale.Entry         // as it is now
}

// AppliedTemplate is what Apply did with one template.
type AppliedTemplate struct {
	ID     string
	Change Change
	Fields []sale.FieldChange // of an update, in the order of the sales file
	Entry  sale.Entry         // of an update: the sale that gives it out, as it is now; zero for none
}

// AppliedCatalogue is what Apply did, in the order of the catalogue.
type AppliedCatalogue struct {
	Templates []AppliedTemplate
	Sales     []Applied
}

// applier is who audit_log names for what Apply changes.
const applier = "warmup"

// Apply makes Postgres hold what c says, all or, on an error, none. What a sale that was
// loaded once, or a template whose coupons are given out, cannot change is refused
// with an error of type *FixedError, which names every field. Units, orders and coupons
// stay as they are. Sales and templates that c does not mention stay, too.
func (s *Store) Apply(ctx context.Context, c Catalogue) (AppliedCatalogue, error) {
	return s.applyAll(ctx, c, nil)
}

// errPlanned takes back what Plan has tried.
var errPlanned = errors.New("only planned")

// Plan says what Apply would do, and changes nothing.
func (s *Store) Plan(ctx context.Context, c Catalogue) (AppliedCatalogue, error) {
	return s.applyAll(ctx, c, errPlanned)
}

func (s *Store) applyAll(ctx context.Context, c Catalogue, end error) (applied AppliedCatalogue, err error) {
	orders, err := applyOrders(c)
	if err != nil {
		return applied, fmt.Errorf("cannot apply sales: %w", err)
	}
	for range maxAttempts {
		applied = AppliedCatalogue{make([]AppliedTemplate, len(c.Templates)), make([]Applied, len(c.Sales))}
		err = s.bulkTx(ctx, func(tx pgx.Tx) error {
			if err := applyInOrder(ctx, tx, c, orders, applied); err != nil {
				return err
			}
			return end
		})
		if !lostRace(err) {
			break
		}
	}
	if err != nil && !errors.Is(err, errPlanned) {
		return AppliedCatalogue{}, fmt.Errorf("cannot apply sales: %w", err)
	}
	return applied, nil
}

// applyInOrder inserts the templates that are new, for sales name them, and changes the
// others last: their rows come behind the gates, as in every transaction that gives out
// coupons. It writes all allow lists before it closes the first gate: that takes as long
// as they are, and orders must not wait for it.
func applyInOrder(ctx context.Context, tx pgx.Tx, c Catalogue, orders applyOrder, applied AppliedCatalogue) error {
	templates := newTemplating(tx)
	for _, i := range orders.templates {
		if err := templates.prepare(ctx, canonicalRule(c.Templates[i])); err != nil {
			return fmt.Errorf("template %s: %w", c.Templates[i].ID, err)
		}
	}
	steps := make([]applying, len(c.Sales))
	for _, i := range orders.sales {
		steps[i] = applying{tx: tx, config: canonical(c.Sales[i]), templates: templates}
		if err := steps[i].prepare(ctx); err != nil {
			return fmt.Errorf("sale %s: %w", c.Sales[i].ID, err)
		}
	}
	fixed := &FixedError{}
	if err := finishSales(ctx, steps, templates, applied.Sales, fixed); err != nil {
		return err
	}
	if err := templates.finish(ctx, fixed); err != nil {
		return err
	}
	if len(fixed.Sales)+len(fixed.Templates) > 0 {
		return fixed
	}
	for i, r := range c.Templates {
		applied.Templates[i] = templates.applied(r.ID)
	}
	return templates.rules(ctx, applied)
}

// finishSales changes the sales of the file, and numbers those whose templates it changes, of
// the file or not: in the order of their ids, for each closes its gate.
func finishSales(ctx context.Context, steps []applying, templates *templating, applied []Applied, fixed *FixedError) error {
	ids, indexes := templates.announced(), make(map[string]int, len(steps))
	for i := range steps {
		ids, indexes[steps[i].config.ID] = append(ids, steps[i].config.ID), i
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if i, ok := indexes[id]; ok {
			refused, err := steps[i].finish(ctx, &applied[i])
			if err != nil {
				return fmt.Errorf("sale %s: %w", id, err)
			}
			if len(refused) > 0 {
				fixed.Sales = append(fixed.Sales, FixedSale{id, refused})
			}
		}
		if err := templates.announce(ctx, id); err != nil {
			return fmt.Errorf("sale %s: %w", id, err)
		}
	}
	return nil
}

// applyOrder is the indexes of a catalogue by id, so that concurrent callers lock in one
// order.
type applyOrder struct{ templates, sales []int }

// applyOrders refuses an id that is there twice.
func applyOrders(c Catalogue) (o applyOrder, err error) {
	if o.templates, err = byID("template", c.Templates, func(r coupon.Rule) string { return r.ID }); err != nil {
		return o, err
	}
	o.sales, err = byID("sale", c.Sales, func(s SaleConfig) string { return s.ID })
	return o, err
}

func byID[T any](what string, list []T, id func(T) string) ([]int, error) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(id(list[a]), id(list[b])) })
	for n := 1; n < len(order); n++ {
		if again := id(list[order[n]]); again == id(list[order[n-1]]) {
			return nil, fmt.Errorf("%s %s is there twice", what, again)
		}
	}
	return order, nil
}

// canonical is c as Postgres keeps it, so that applying a file again finds no
// difference: times and durations in microseconds, no nil list or map, allow list
// sorted and without repeats.
func canonical(c SaleConfig) SaleConfig {
	c.OpensAt = c.OpensAt.UTC().Truncate(time.Microsecond)
	c.ClosesAt = c.ClosesAt.UTC().Truncate(time.Microsecond)
	c.Hold = c.Hold.Truncate(time.Microsecond)
	c.Eligibility.MinAccountAge = c.Eligibility.MinAccountAge.Truncate(time.Microsecond)
	c.Eligibility.Tags = append([]string{}, c.Eligibility.Tags...)
	titles := map[string]string{}
	maps.Copy(titles, c.Titles)
	c.Titles = titles
	c.AllowList = append([]string{}, c.AllowList...)
	slices.Sort(c.AllowList)
	c.AllowList = slices.Compact(c.AllowList)
	return c
}

// saleArgs are the configured columns of sales as arguments $1 to $20.
func saleArgs(c SaleConfig) []any {
	return []any{
		c.ID, c.Kind, c.Title, c.SKU, c.Total, c.PriceMinor, c.Currency, c.PerUserLimit, c.OpensAt, c.ClosesAt, c.Hold,
		c.Mode, c.RebuyAfterRelease, c.Weight, c.Eligibility.MinAccountAge, c.Eligibility.MinPaidOrders,
		c.Eligibility.Tags, c.Eligibility.HasAllowList, c.Titles, c.Template,
	}
}

// newAllowRev numbers an allow list, see the migration that added the column.
const newAllowRev = `greatest(allow_rev + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`

// insertSale reports whether there was no such sale. Its allow list is empty.
func insertSale(ctx context.Context, tx pgx.Tx, c SaleConfig) (created bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO sales (sale_id, kind, title, sku, total, price, currency, per_user_limit, opens_at, closes_at, hold,
			mode, rebuy_after_release, weight, min_account_age, min_paid_orders, tags, has_allow_list, titles, template_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, nullif($20, ''))
		ON CONFLICT (sale_id) DO NOTHING`, saleArgs(c)...)
	if err != nil || tag.RowsAffected() == 0 {
		return false, takenMeanwhile(err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO sale_stock (sale_id, total) VALUES ($1, $2)`, c.ID, c.Total)
	return true, err
}

// updateSale makes a sale what c says and returns its entry. The units of one that is loaded stay.
func updateSale(ctx context.Context, tx pgx.Tx, c SaleConfig, newList bool) (sale.Entry, error) {
	e, err := oneEntry(ctx, tx, `
		UPDATE sales SET kind = $2, title = $3, sku = $4, total = $5, price = $6, currency = $7, per_user_limit = $8,
			opens_at = $9, closes_at = $10, hold = $11, mode = $12, rebuy_after_release = $13, weight = $14,
			min_account_age = $15, min_paid_orders = $16, tags = $17, has_allow_list = $18, titles = $19,
			template_id = nullif($20, ''), rev = rev + 1, allow_rev = CASE WHEN $21 THEN `+newAllowRev+` ELSE allow_rev END
		WHERE sale_id = $1 RETURNING `+entryColumns, append(saleArgs(c), newList)...)
	if err != nil {
		return e, takenMeanwhile(err)
	}
	_, err = tx.Exec(ctx, `
		UPDATE sale_stock t SET total = $2 FROM sales s
		WHERE t.sale_id = $1 AND s.sale_id = $1 AND s.epoch = 0`, c.ID, c.Total)
	return e, err
}
