package sale

// Evidence is what an audit reads of one sale from the three stores, and what a
// client may add. Postgres is read first, in one snapshot, then the stream, then
// Redis: whatever moves meanwhile moves in a direction that Audit allows for.
type Evidence struct {
	SaleID       string
	PerUserLimit int
	PriceMinor   int64  // of an order, in minor units of Currency; no change of a sale that was loaded changes it
	Currency     string // of the price

	Total     int64 // units of the sale, as Postgres counts them
	Held      int64 // units that orders hold, as the stock row counts them
	Orders    []Order
	Releases  []Release
	Unapplied int      // releases that are not marked as applied to Redis
	Rowless   []string // rids with a dead letter: they may have been rejected without an order row

	Configured  int64 // units of the sale, as configured
	Adjustments []AdjustmentRow

	Payments    []Payment    // events of these orders
	RefundsOwed []RefundOwed // of these orders

	Coupons CouponEvidence

	HandedOver []string // rids in the stream; repeats are normal

	Redis RedisEvidence

	Client []Seen // what buyers were told; empty when no client kept a record

	// Still says that no number moved while the stores were read, so that
	// numbers of different stores may be compared.
	Still bool
	// Waited says that nobody attempts any more and that what was under way had
	// its time: whatever has not arrived by now is a violation.
	Waited bool
}

// AuditRows is everything Postgres says about a sale, as of one moment.
type AuditRows struct {
	Entry     Entry
	Total     int64 // units that count now
	Held      int64 // units that the stock row says are held
	Orders    []Order
	Releases  []Release
	Unapplied int      // releases without an applied mark
	Rowless   []string // rids that have a dead letter

	Adjustments []AdjustmentRow
	Payments    []Payment    // events of these orders, and of reservations rejected without one
	RefundsOwed []RefundOwed // of the same
}

// Adjusted is how many units adjustments added to the total; negative when they took
// more away.
func (e Evidence) Adjusted() (units int64) {
	for _, a := range e.Adjustments {
		if a.State.Counted() {
			units += a.Delta
		}
	}
	return units
}

// Adjusting is how many adjustments are not finished.
func (e Evidence) Adjusting() (n int) {
	for _, a := range e.Adjustments {
		if !a.State.Finished() {
			n++
		}
	}
	return n
}

// RedisEvidence is what Redis says of a sale.
type RedisEvidence struct {
	Loaded   int64 // stock that the counters started from
	Stock    int64
	Accepted int64 // reservations counted since Loaded
	Given    int64 // units given back since Loaded
	HandOff  int64 // reservations that no PubAck or order has confirmed yet
	Rank     int64 // last rank given
	Served   int64 // ranks counted as having their outcome
	Unpaid   int64 // reservations counted as neither paid nor closed
	SoldOut  bool
	Buyers   []string          // "user#slot" of every slot that is taken
	Slots    map[string]string // rid by "user#slot": the one that a buyer's tickets are found by
	Keys     map[string]string // rid by user, line feed and idempotency key
	Differs  []string          // from the sale's configuration, see Entry.Differences
	Tickets  []Ticket
	Adjusted []Adjustment // that moved units, or were loaded with the epoch
}

// Seen is what one buyer was told about one reservation.
type Seen struct {
	RID      string
	Accepted bool     // answered 202
	Statuses []Status // in the order they were read
}

// Verdict is what an audit finds. Its JSON is part of every report.
type Verdict struct {
	Pass       bool        `json:"pass"`
	AtRest     bool        `json:"-"` // nothing under way in any store
	Violations []Violation `json:"violations"`
}

// Violation is one broken invariant, with the rids or users that show it.
type Violation struct {
	Invariant string `json:"invariant"` // I1 to I9
	Detail    string `json:"detail"`
}
