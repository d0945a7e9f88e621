package compare

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// warmTemplate is given out before the first round: what is first is slower.
func warmTemplate() Sale { return Sale{ID: warmSuffix, Total: 1000, Limit: 1} }

// SalesFile is the file that a comparison's stack starts with. Each round applies
// another.
func SalesFile(now time.Time) []byte { return salesFile([]Sale{warmTemplate()}, now) }

// salesFile has the sales open at now. One that is not of goods gives out a template of
// its id and total.
func salesFile(sales []Sale, now time.Time) []byte {
	var templates, text bytes.Buffer
	for _, s := range sales {
		what := "price: 100"
		if !s.Goods {
			what = "kind: coupon, template: " + s.ID
			fmt.Fprintf(&templates, "  - {id: %s, kind: amount, value: 2000, min_amount: 10000, total: %d, currency: CNY}\n", s.ID, s.Total)
		}
		fmt.Fprintf(&text, "  - {id: %s, %s, total: %d, per_user_limit: %d, opens_at: %s, closes_at: %s}\n", s.ID, what, s.Total, s.Limit,
			now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	all := append([]byte("sales:\n"), text.Bytes()...)
	if templates.Len() > 0 {
		all = append(append([]byte("coupon_templates:\n"), templates.Bytes()...), all...)
	}
	return all
}

func writeSales(path string, sales []Sale) error {
	if err := os.WriteFile(path, salesFile(sales, time.Now()), 0o644); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	return nil
}
