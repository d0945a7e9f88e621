package pacing

import (
	"time"

	"sluice/shared/sale"
)

// MaxBatch is the most orders that one transaction makes: two full hand-overs.
const MaxBatch = 2 * sale.MaxHandOver

// overhead is what a transaction costs however few orders it makes, in orders: its round
// trips, its commit. So a database that is short of commits gets fewer and larger
// transactions, though the pace is in orders.
const overhead = 100

// Cost is what a transaction takes of the pace: as many orders as it makes if it is full,
// more than that if it is not.
func Cost(orders int) float64 {
	return float64(orders+overhead) * MaxBatch / (MaxBatch + overhead)
}

// Config bounds the pace of one worker.
type Config struct {
	Target       time.Duration // of the p90 of order transactions
	Floor        float64       // orders per second
	Ceiling      float64       // orders per second; also what a worker starts with
	ConsumersMax int           // order transactions in flight
}

// Limit says what keeps a worker from making orders faster.
type Limit string

// Limits.
const (
	LimitDemand    Limit = "demand"    // there is nothing more to order
	LimitPace      Limit = "pace"      // what the database bears within the target
	LimitConsumers Limit = "consumers" // as many transactions are in flight as may be
	LimitLatency   Limit = "latency"   // the database is slow, however little is asked of it
	LimitCeiling   Limit = "ceiling"   // the operator's
	LimitErrors    Limit = "errors"    // timeouts, or too many connections
)

// Limits are all there are.
func Limits() []Limit {
	return []Limit{LimitPace, LimitDemand, LimitConsumers, LimitLatency, LimitCeiling, LimitErrors}
}
