package sale

import "fmt"

// Adjustment adds units to a sale, or takes unsold ones away. Its id is what makes
// it happen once.
type Adjustment struct {
	ID     string
	SaleID string
	Delta  int64 // units; negative to take away
}

// ValidateAdjustmentID refuses ids outside [A-Za-z0-9._:-]{1,64}.
func ValidateAdjustmentID(id string) error {
	if len(id) < 1 || len(id) > 64 {
		return fmt.Errorf("adjustment id must have 1 to 64 characters, has %d", len(id))
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' && c != ':' {
			return fmt.Errorf("adjustment id %q: only letters, digits and . _ : - are allowed", id)
		}
	}
	return nil
}

// Adjusted is what Redis did with an adjustment. The numbers are the script's.
type Adjusted int64

// Results of adjust.
const (
	AdjustDone    Adjusted = iota
	AdjustAlready          // this id moved its units before
	AdjustUnsold           // fewer units are unsold than are to go, now or when first asked; nothing moved
)

// AdjustResult is the result of one adjustment.
type AdjustResult struct {
	Code  Adjusted
	Stock int64 // units in stock after it
}

// AdjustmentState is how far an adjustment has come in Postgres.
type AdjustmentState string

// States of an adjustment:
//
//	increase              ──► counted ──Redis──► applied
//	decrease  intended ──Redis──┬──────────────► applied
//	                            └──────────────► refused
const (
	AdjustmentIntended AdjustmentState = "intended" // a decrease that Redis has not decided, as far as Postgres knows
	AdjustmentCounted  AdjustmentState = "counted"  // the total in Postgres has it, Redis may not
	AdjustmentApplied  AdjustmentState = "applied"  // both have it
	AdjustmentRefused  AdjustmentState = "refused"  // fewer units were unsold than were to go
)

// Finished reports whether nothing is left to be done.
func (s AdjustmentState) Finished() bool { return s == AdjustmentApplied || s == AdjustmentRefused }

// Counted reports whether the total in Postgres has the units.
func (s AdjustmentState) Counted() bool { return s == AdjustmentCounted || s == AdjustmentApplied }

// AdjustmentRow is an adjustment as Postgres has it.
type AdjustmentRow struct {
	Adjustment
	State  AdjustmentState
	Unsold int64 // of a refused one: units that could have gone
}
