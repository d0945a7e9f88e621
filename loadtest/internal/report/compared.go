package report

import "fmt"

// Compared is what one system made of the templates of one size, over the rounds.
type Compared struct {
	System       string  `json:"system"`
	Total        int64   `json:"total"` // coupons there are
	Limit        int     `json:"limit"` // coupons a claimer may have
	Rounds       int     `json:"rounds"`
	Issued       Spread  `json:"issued"`
	Doubles      Spread  `json:"doubles"`                       // coupons beyond the limit
	DBWrites     Spread  `json:"db_writes"`                     // rows of a round, until nothing more is written, templates of all sizes together
	DBWritesPerS Spread  `json:"db_writes_per_s_of_giving_out"` // the same by the time from the first click until the last coupon, which is shorter
	NewP95MS     Spread  `json:"new_coupon_p95_ms"`             // to a click that got a new coupon, of all sizes together
	HeldP95MS    float64 `json:"held_p95_ms"`                   // from then until the coupon is held, of all rounds; 0 where the answer is the coupon
}

// Over is how many coupons there should not be.
func (c Compared) Over() Spread {
	over := func(issued float64) float64 { return max(0, issued-float64(c.Total)) }
	return Spread{Median: over(c.Issued.Median), Min: over(c.Issued.Min), Max: over(c.Issued.Max)}
}

// comparedHead are the headings of Cells.
var comparedHead = []string{"system", "coupons issued", "doubles", "rows written", "a second of giving out", "p95 of a new coupon's answer", "p95 until held"}

// Cells are the row of a table for people.
func (c Compared) Cells() []string {
	held := "with the answer"
	if c.HeldP95MS > 0 {
		held = millis(c.HeldP95MS) + " later"
	}
	return []string{c.System, fmt.Sprintf("%s of %s", counts(c.Issued), count(c.Total)), counts(c.Doubles), counts(c.DBWrites), counts(c.DBWritesPerS), millis(c.NewP95MS.Median), held}
}

// counts writes a spread of whole numbers: the median, and the extremes if they differ.
func counts(s Spread) string {
	if s.Min == s.Max {
		return count(int64(s.Median))
	}
	return fmt.Sprintf("%s (%s to %s)", count(int64(s.Median)), count(int64(s.Min)), count(int64(s.Max)))
}
