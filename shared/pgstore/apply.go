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

	"sluice/shared/sale"
)

// SaleConfig is a sale as its operator wrote it.
type SaleConfig struct {
	sale.Sale
	AllowList []string // user ids, any order; only if Eligibility.HasAllowList
}

// Change says what Apply did with a sale.
type Change string

// Changes of a sale by Apply.
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

// applier is who audit_log names for what Apply changes.
const applier = "warmup"

// Apply makes the catalogue hold configs, all or, on an error, none, and
// answers in their order. What a sale that was loaded once cannot change is refused
// with an error of type *FixedError, which names every field of every sale. Units
// and orders stay as they are. Sales that configs does not mention stay, too.
func (s *Store) Apply(ctx context.Context, configs []SaleConfig) ([]Applied, error) {
	return s.applyAll(ctx, configs, nil)
}

// errPlanned takes back what Plan has tried.
var errPlanned = errors.New("only planned")

// Plan says what Apply would do, and changes nothing.
func (s *Store) Plan(ctx context.Context, configs []SaleConfig) ([]Applied, error) {
	return s.applyAll(ctx, configs, errPlanned)
}

func (s *Store) applyAll(ctx context.Context, configs []SaleConfig, end error) (applied []Applied, err error) {
	order, err := applyOrder(configs)
	if err != nil {
		return nil, fmt.Errorf("cannot apply sales: %w", err)
	}
	for range maxAttempts {
		applied = make([]Applied, len(configs))
		err = s.bulkTx(ctx, func(tx pgx.Tx) error {
			if err := applyInOrder(ctx, tx, configs, order, applied); err != nil {
				return err
			}
			return end
		})
		if !lostRace(err) {
			break
		}
	}
	if err != nil && !errors.Is(err, errPlanned) {
		return nil, fmt.Errorf("cannot apply sales: %w", err)
	}
	return applied, nil
}

// applyInOrder writes all allow lists before it closes the first gate: that takes as long
// as they are, and orders must not wait for it.
func applyInOrder(ctx context.Context, tx pgx.Tx, configs []SaleConfig, order []int, applied []Applied) error {
	steps := make([]applying, len(configs))
	for _, i := range order {
		steps[i] = applying{tx: tx, config: canonical(configs[i])}
		if err := steps[i].prepare(ctx); err != nil {
			return fmt.Errorf("sale %s: %w", configs[i].ID, err)
		}
	}
	fixed := &FixedError{}
	for _, i := range order {
		refused, err := steps[i].finish(ctx, &applied[i])
		if err != nil {
			return fmt.Errorf("sale %s: %w", configs[i].ID, err)
		}
		if len(refused) > 0 {
			fixed.Sales = append(fixed.Sales, FixedSale{configs[i].ID, refused})
		}
	}
	if len(fixed.Sales) > 0 {
		return fixed
	}
	return nil
}

// applyOrder is the indexes of configs by sale id, so that concurrent callers
// lock sales in one order. An id that is there twice is refused.
func applyOrder(configs []SaleConfig) ([]int, error) {
	order := make([]int, len(configs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(configs[a].ID, configs[b].ID) })
	for n := 1; n < len(order); n++ {
		if id := configs[order[n]].ID; id == configs[order[n-1]].ID {
			return nil, fmt.Errorf("sale %s is there twice", id)
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

// saleArgs are the configured columns of sales as arguments $1 to $19.
func saleArgs(c SaleConfig) []any {
	return []any{
		c.ID, c.Kind, c.Title, c.SKU, c.Total, c.PriceMinor, c.Currency, c.PerUserLimit, c.OpensAt, c.ClosesAt, c.Hold,
		c.Mode, c.RebuyAfterRelease, c.Weight, c.Eligibility.MinAccountAge, c.Eligibility.MinPaidOrders,
		c.Eligibility.Tags, c.Eligibility.HasAllowList, c.Titles,
	}
}

// newAllowRev numbers an allow list, see the migration that added the column.
const newAllowRev = `greatest(allow_rev + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`

// insertSale reports whether there was no such sale. Its allow list is empty.
func insertSale(ctx context.Context, tx pgx.Tx, c SaleConfig) (created bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO sales (sale_id, kind, title, sku, total, price, currency, per_user_limit, opens_at, closes_at, hold,
			mode, rebuy_after_release, weight, min_account_age, min_paid_orders, tags, has_allow_list, titles)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (sale_id) DO NOTHING`, saleArgs(c)...)
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO sale_stock (sale_id, total) VALUES ($1, $2)`, c.ID, c.Total)
	return true, err
}

// updateSale makes a sale what c says and returns its entry. The units of one that is loaded stay.
func updateSale(ctx context.Context, tx pgx.Tx, c SaleConfig, newList bool) (sale.Entry, error) {
	e, err := oneEntry(ctx, tx, `
		UPDATE sales SET kind = $2, title = $3, sku = $4, total = $5, price = $6, currency = $7, per_user_limit = $8,
			opens_at = $9, closes_at = $10, hold = $11, mode = $12, rebuy_after_release = $13, weight = $14,
			min_account_age = $15, min_paid_orders = $16, tags = $17, has_allow_list = $18, titles = $19, rev = rev + 1,
			allow_rev = CASE WHEN $20 THEN `+newAllowRev+` ELSE allow_rev END
		WHERE sale_id = $1 RETURNING `+entryColumns, append(saleArgs(c), newList)...)
	if err != nil {
		return e, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE sale_stock t SET total = $2 FROM sales s
		WHERE t.sale_id = $1 AND s.sale_id = $1 AND s.epoch = 0`, c.ID, c.Total)
	return e, err
}
