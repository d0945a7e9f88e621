package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"sluice/shared/coupon"
	"sluice/warmup/internal/salesfile"
)

// writeNotes says what is allowed and hardly meant: of a sale, that its coupons end before
// it closes, so that who claims late holds one that is good for nothing.
func (s *stores) writeNotes(ctx context.Context, w io.Writer, file *salesfile.File) error {
	rules, err := s.rulesOf(ctx, file)
	if err != nil {
		return err
	}
	for _, one := range file.Sales {
		r, known := rules[one.Template]
		if !known || r.EndsAt.IsZero() || !r.EndsAt.Before(one.ClosesAt) {
			continue
		}
		_, err := fmt.Fprintf(w, "%s: note: it closes at %s, and coupons of template %s end before, at %s\n",
			one.ID, one.ClosesAt.Format(time.RFC3339), r.ID, r.EndsAt.UTC().Format(time.RFC3339))
		if err != nil {
			return err
		}
	}
	return nil
}

// rulesOf is the templates that Postgres has, as the file has or makes them.
func (s *stores) rulesOf(ctx context.Context, file *salesfile.File) (map[string]coupon.Rule, error) {
	stored, err := s.postgres.Templates(ctx)
	if err != nil {
		return nil, err
	}
	rules := make(map[string]coupon.Rule, len(stored)+len(file.Templates))
	for _, t := range stored {
		rules[t.ID] = t.Rule
	}
	for _, r := range file.Templates {
		rules[r.ID] = r
	}
	return rules, nil
}
