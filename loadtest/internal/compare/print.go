package compare

import (
	"fmt"
	"io"
	"strings"

	"sluice/loadtest/internal/report"
)

// Print writes all figures, what to know about them, the verdict and, to be pasted, the
// tables of what matters.
func (r Result) Print(w io.Writer) error {
	if err := r.Report.PrintMeasured(w, r.notes); err != nil {
		return err
	}
	text := "\n" + r.sale() + r.before() + r.claims()
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return nil
}

// before is the table of the systems, in Markdown.
func (r Result) before() string {
	if len(r.Report.Compared) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n\n| system | coupons issued | doubles | rows written | a second of giving out | p95 of a new coupon's answer | p95 until held |\n|---|---|---|---|---|---|---|\n", r.config.scale())
	for _, c := range r.Report.Compared {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(c.Cells(), " | "))
	}
	fmt.Fprintf(&text, "\nSluice: %s.\n", r.verdicts[PartIncident])
	return text.String()
}

// claims is the table of the open loop, in Markdown.
func (r Result) claims() string {
	if r.config.Claims.Rounds == 0 {
		return ""
	}
	c := r.config.Claims
	var text strings.Builder
	fmt.Fprintf(&text, "\nClaims, open loop, one hot template of %d (%.0f %% of the claims), %d users, p95 in ms, median of %s (min to max):\n\n"+
		"| claims a second | in stock, until 202 | in stock, until held | replay | sold out | sent late |\n|---|---|---|---|---|---|\n", c.Templates, 100*c.HotShare, c.Users, rounds(c.Rounds))
	for _, rate := range c.Rates {
		name := fmt.Sprintf("claims_%d", rate)
		all := r.Report.Ratios
		fmt.Fprintf(&text, "| %d | %s | %.1f | %s | %s | %.1f %% |\n", rate, spread(all[name+"_in_stock_p95_ms"]), all[name+"_until_held_p95_ms"].Median,
			spread(all[name+"_replay_p95_ms"]), spread(all[name+"_sold_out_p95_ms"]), 100*all[name+"_sent_late_share"].Median)
	}
	return text.String()
}

func spread(s report.Spread) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", s.Median, s.Min, s.Max)
}
