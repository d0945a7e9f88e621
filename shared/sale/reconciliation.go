package sale

import "time"

// Holdings is what Postgres says about a sale's units and about what is left to do,
// as of one moment.
type Holdings struct {
	Entry           Entry
	Total, Held     int64 // units, as the stock row says
	Holding         int64 // orders that hold one
	Orders          int64 // rows, rejected ones too
	Releases        int64 // rows
	Unapplied       int64 // releases that Redis is not known to have applied
	OldestUnapplied time.Duration
	Unshown         int64  // open orders whose ticket does not show their state
	OldestUnshown   string // the rid of the first of them
	DeadLetters     int64  // open ones
	Surplus         int64  // orders ever rejected as surplus
	RefundsOwed     int64  // open ones
	PaymentsStuck   int64  // payment events that should have been applied long ago
}

// Free is how many units can be sold.
func (h Holdings) Free() int64 { return h.Total - h.Held }

// Finding is something about a sale that should not be.
type Finding struct {
	Kind     string    `json:"kind"`
	Amount   int64     `json:"amount"`   // units, rows or entries that are concerned; positive
	Since    time.Time `json:"since"`    // when a reconciliation first saw it
	Counts   bool      `json:"counts"`   // it is beyond doubt and needs a person
	Repaired bool      `json:"repaired"` // this reconciliation has put it right
	Detail   string    `json:"detail"`
	Mark     string    `json:"mark,omitempty"` // tells what is seen from another of its kind
}

// Reconciliation is what one run found out about one sale.
type Reconciliation struct {
	Run         int64     `json:"run"`
	SaleID      string    `json:"sale"`
	At          time.Time `json:"at"`
	Epoch       int64     `json:"epoch"`
	InRedis     bool      `json:"in_redis"` // live at the epoch; else the numbers of Redis are 0
	AtRest      bool      `json:"at_rest"`  // nothing moved and nothing was under way
	Total       int64     `json:"total"`
	Held        int64     `json:"held"`
	Free        int64     `json:"free"`
	Holding     int64     `json:"holding"` // orders that hold a unit
	Stock       int64     `json:"stock"`   // in Redis
	SoldOut     bool      `json:"sold_out"`
	Accepted    int64     `json:"accepted"`
	Served      int64     `json:"served"`
	HandOff     int64     `json:"handoff"`
	HandOffAge  int64     `json:"handoff_age_seconds"` // of the oldest entry
	Unapplied   int64     `json:"unapplied_releases"`
	Unshown     int64     `json:"unshown_orders"`
	DeadLetters int64     `json:"dead_letters"`
	Surplus     int64     `json:"surplus"`
	Findings    []Finding `json:"findings"`
	Deviations  int64     `json:"deviations"` // amounts of the findings that count
}

// ReconciliationRun is one run over all sales.
type ReconciliationRun struct {
	Run        int64            `json:"run"`
	StartedAt  time.Time        `json:"started_at"`
	FinishedAt time.Time        `json:"finished_at,omitzero"` // zero when it was broken off
	Sales      int64            `json:"sales"`
	Deviations int64            `json:"deviations"`
	Repaired   int64            `json:"repaired"` // findings that it put right
	ByKind     map[string]int64 `json:"by_kind"`
}

// ReconciliationDay is one day, UTC.
type ReconciliationDay struct {
	Day        time.Time `json:"day"`
	Runs       int64     `json:"runs"`
	Deviations int64     `json:"deviations"` // each counted once, on each day on which it was there
	Repaired   int64     `json:"repaired"`
}
