package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	Fields []string // of an update: what differed, named as in the sales file
}

// Apply makes the catalogue hold configs, all or, on an error, none, and
// answers in their order. A sale that was loaded once must be identical, else
// the error is ErrLoaded and names the fields. Sales that configs does not
// mention stay as they are.
func (s *Store) Apply(ctx context.Context, configs []SaleConfig) ([]Applied, error) {
	applied := make([]Applied, len(configs))
	order, err := applyOrder(configs)
	if err != nil {
		return nil, fmt.Errorf("cannot apply sales: %w", err)
	}
	err = s.bulkTx(ctx, func(tx pgx.Tx) error {
		for _, i := range order {
			if applied[i], err = applyOne(ctx, tx, canonical(configs[i])); err != nil {
				return fmt.Errorf("sale %s: %w", configs[i].ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot apply sales: %w", err)
	}
	return applied, nil
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

func applyOne(ctx context.Context, tx pgx.Tx, c SaleConfig) (Applied, error) {
	if len(c.AllowList) > 0 && !c.Eligibility.HasAllowList {
		return Applied{}, fmt.Errorf("has an allow list that its eligibility does not ask for")
	}
	created, err := insertSale(ctx, tx, c)
	if err != nil {
		return Applied{}, err
	}
	if created {
		return Applied{SaleID: c.ID, Change: Created}, nil
	}
	epoch, fields, err := differences(ctx, tx, c)
	switch {
	case err != nil:
		return Applied{}, err
	case len(fields) == 0:
		return Applied{SaleID: c.ID, Change: Unchanged}, nil
	case epoch > 0:
		return Applied{}, fmt.Errorf("%w: %s", ErrLoaded, strings.Join(fields, ", "))
	}
	return Applied{SaleID: c.ID, Change: Updated, Fields: fields}, updateSale(ctx, tx, c)
}

// saleArgs are the configured columns of sales as arguments $1 to $19.
func saleArgs(c SaleConfig) []any {
	return []any{
		c.ID, c.Kind, c.Title, c.SKU, c.Total, c.PriceMinor, c.Currency, c.PerUserLimit, c.OpensAt, c.ClosesAt, c.Hold,
		c.Mode, c.RebuyAfterRelease, c.Weight, c.Eligibility.MinAccountAge, c.Eligibility.MinPaidOrders,
		c.Eligibility.Tags, c.Eligibility.HasAllowList, c.Titles,
	}
}

func insertSale(ctx context.Context, tx pgx.Tx, c SaleConfig) (created bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO sales (sale_id, kind, title, sku, total, price, currency, per_user_limit, opens_at, closes_at, hold,
			mode, rebuy_after_release, weight, min_account_age, min_paid_orders, tags, has_allow_list, titles)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (sale_id) DO NOTHING`, saleArgs(c)...)
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO sale_stock (sale_id, total) VALUES ($1, $2)`, c.ID, c.Total); err != nil {
		return false, err
	}
	return true, insertAllowList(ctx, tx, c)
}

func updateSale(ctx context.Context, tx pgx.Tx, c SaleConfig) error {
	_, err := tx.Exec(ctx, `
		UPDATE sales SET kind = $2, title = $3, sku = $4, total = $5, price = $6, currency = $7, per_user_limit = $8,
			opens_at = $9, closes_at = $10, hold = $11, mode = $12, rebuy_after_release = $13, weight = $14,
			min_account_age = $15, min_paid_orders = $16, tags = $17, has_allow_list = $18, titles = $19, rev = rev + 1
		WHERE sale_id = $1`, saleArgs(c)...)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE sale_stock SET total = $2 WHERE sale_id = $1`, c.ID, c.Total); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM sale_allow WHERE sale_id = $1`, c.ID); err != nil {
		return err
	}
	return insertAllowList(ctx, tx, c)
}

func insertAllowList(ctx context.Context, tx pgx.Tx, c SaleConfig) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO sale_allow (sale_id, user_id) SELECT $1, unnest($2::text[])`, c.ID, c.AllowList)
	return err
}

// allowList returns the users a sale's allow list names, sorted.
func allowList(ctx context.Context, tx pgx.Tx, saleID string) ([]string, error) {
	return collect(ctx, tx, pgx.RowTo[string],
		`SELECT user_id FROM sale_allow WHERE sale_id = $1 ORDER BY user_id`, saleID)
}
