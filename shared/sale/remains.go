package sale

import "time"

// Remains is what Postgres says about a sale that is to be retired.
type Remains struct {
	Entry     Entry
	Wait      time.Duration // until the retention is over, by Postgres's clock; 0 when it is
	Pending   int64         // orders that may still be paid
	Unshown   int64         // open orders whose ticket does not show their state
	Unapplied int64         // releases that Redis is not known to have applied
	Adjusting int64         // stock adjustments that are not finished
	Paying    int64         // successful payments of its orders that are not applied
}
