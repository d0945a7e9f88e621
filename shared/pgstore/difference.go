package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// differences names the fields in which c, in canonical form, differs from the
// stored sale. A sale that is not loaded yet it locks against loads and other
// appliers; one that is loaded never changes, and its orders need not wait.
func differences(ctx context.Context, tx pgx.Tx, c SaleConfig) (epoch int64, fields []string, err error) {
	const stored = `SELECT ` + entryColumns + ` FROM sales WHERE sale_id = $1`
	entry, err := oneEntry(ctx, tx, stored, c.ID)
	if err == nil && entry.Epoch == 0 {
		if _, err := tx.Exec(ctx, closeGate, c.ID); err != nil {
			return 0, nil, err
		}
		entry, err = oneEntry(ctx, tx, stored, c.ID)
	}
	if err != nil {
		return 0, nil, err
	}
	// The window as it was applied: an operator may have closed the sale since.
	err = tx.QueryRow(ctx, `SELECT opens_at, closes_at FROM sales WHERE sale_id = $1`, c.ID).Scan(&entry.OpensAt, &entry.ClosesAt)
	if err != nil {
		return 0, nil, err
	}
	listed, err := allowList(ctx, tx, c.ID)
	if err != nil {
		return 0, nil, err
	}
	fields = changedFields(entry.Sale, c.Sale)
	if entry.Eligibility.HasAllowList != c.Eligibility.HasAllowList || !slices.Equal(listed, c.AllowList) {
		fields = append(fields, "eligibility.allow_list")
	}
	return entry.Epoch, fields, nil
}

// changedFields names the fields in which a and b differ as the sales file
// spells them; the allow list is not looked at.
func changedFields(a, b sale.Sale) []string {
	var fields []string
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"kind", a.Kind != b.Kind},
		{"title", a.Title != b.Title},
		{"sku", a.SKU != b.SKU},
		{"total", a.Total != b.Total},
		{"price", a.PriceMinor != b.PriceMinor},
		{"currency", a.Currency != b.Currency},
		{"per_user_limit", a.PerUserLimit != b.PerUserLimit},
		{"opens_at", !a.OpensAt.Equal(b.OpensAt)},
		{"closes_at", !a.ClosesAt.Equal(b.ClosesAt)},
		{"hold", a.Hold != b.Hold},
		{"mode", a.Mode != b.Mode},
		{"rebuy_after_release", a.RebuyAfterRelease != b.RebuyAfterRelease},
		{"weight", a.Weight != b.Weight},
		{"eligibility.min_account_age", a.Eligibility.MinAccountAge != b.Eligibility.MinAccountAge},
		{"eligibility.min_paid_orders", a.Eligibility.MinPaidOrders != b.Eligibility.MinPaidOrders},
		{"eligibility.tags", !slices.Equal(a.Eligibility.Tags, b.Eligibility.Tags)},
	} {
		if field.differs {
			fields = append(fields, field.name)
		}
	}
	for _, language := range sale.TitleLanguages()[1:] {
		if a.Titles[language] != b.Titles[language] {
			fields = append(fields, "title."+language)
		}
	}
	return fields
}
