package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// entryColumns are the columns scanEntry expects of the table sales, in order. A sale
// that an operator closed has the window that this left; one closed before it opened
// has none worth speaking of.
const entryColumns = `sale_id, kind, title, sku, coalesce(template_id, ''), total, price, currency, per_user_limit,
	least(opens_at, closed_at - interval '1 millisecond'), least(closes_at, closed_at), hold,
	mode, rebuy_after_release, weight, min_account_age, min_paid_orders, tags, has_allow_list, titles,
	epoch, rev, paused, rebuilding, retired, closed_at, allow_rev,
	CASE WHEN template_id IS NOT NULL THEN (` + ruleOfSale + `) END`

// ruleOfSale is a sale's Rule, see knownRule.
const ruleOfSale = `SELECT t.terms || jsonb_build_object('kind', t.kind, 'value', t.value, 'min_amount', t.min_amount, 'total', t.total)
		|| CASE WHEN t.off_shelf_at IS NULL THEN '{}' ELSE
			jsonb_build_object('off_shelf_at', to_char(t.off_shelf_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END
	FROM coupon_templates t WHERE t.template_id = sales.template_id`

func scanEntry(row pgx.CollectableRow) (sale.Entry, error) {
	var e sale.Entry
	err := row.Scan(entryFields(&e)...)
	e.OpensAt, e.ClosesAt = e.OpensAt.UTC(), e.ClosesAt.UTC()
	return e, err
}

// entryFields are the targets of entryColumns.
func entryFields(e *sale.Entry) []any {
	return []any{&e.ID, &e.Kind, &e.Title, &e.SKU, &e.Template, &e.Total, &e.PriceMinor, &e.Currency, &e.PerUserLimit,
		&e.OpensAt, &e.ClosesAt, &e.Hold, &e.Mode, &e.RebuyAfterRelease, &e.Weight,
		&e.Eligibility.MinAccountAge, &e.Eligibility.MinPaidOrders, &e.Eligibility.Tags, &e.Eligibility.HasAllowList, &e.Titles,
		&e.Epoch, &e.Rev, &e.Paused, &e.Rebuilding, &e.Retired, (*perhaps)(&e.ClosedAt), &e.AllowRev, &e.Rule}
}

// perhaps scans a time that may be NULL, as the zero time.
type perhaps time.Time

// Scan implements sql.Scanner.
func (p *perhaps) Scan(v any) error {
	switch at := v.(type) {
	case nil:
		*p = perhaps{}
	case time.Time:
		*p = perhaps(at.UTC())
	default:
		return fmt.Errorf("a time is %T", v)
	}
	return nil
}

// Entries returns every sale by id, retired ones too until they are forgotten.
func (s *Store) Entries(ctx context.Context) ([]sale.Entry, error) {
	entries, err := read(ctx, s, scanEntry, `SELECT `+entryColumns+` FROM sales WHERE forgotten_at IS NULL ORDER BY sale_id`)
	if err != nil {
		return nil, fmt.Errorf("cannot read catalogue: %w", err)
	}
	return entries, nil
}

// Entry returns one sale, or ErrNoSale.
func (s *Store) Entry(ctx context.Context, saleID string) (sale.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	entry, err := oneEntry(ctx, s.pool, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot read sale %s: %w", saleID, err)
	}
	return entry, nil
}

// oneEntry scans the sale a statement returns; ErrNoSale if it returns none.
func oneEntry(ctx context.Context, q querier, sql string, args ...any) (sale.Entry, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return sale.Entry{}, err
	}
	entry, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if errors.Is(err, pgx.ErrNoRows) {
		return sale.Entry{}, ErrNoSale
	}
	return entry, err
}
