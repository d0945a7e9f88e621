package report

import "math"

// Names of processes that are no part of Sluice.
const (
	ToolProcess  = "loadtest"
	OtherProcess = "other" // everything else on the machine
)

// Process is what one process used while it was watched.
type Process struct {
	Name         string  `json:"name"`  // gateway-0, worker-1, redis, nats, postgres (with its children), loadtest, other (everything else on the machine)
	Cores        float64 `json:"cores"` // on average
	CPUSeconds   float64 `json:"cpu_seconds"`
	MicrosPerTry float64 `json:"cpu_us_per_attempt"` // of all attempts sent meanwhile; 0 when there were none
	ResidentMB   float64 `json:"resident_mb"`        // at the end; 0 where it means nothing
}

// WorkerSettings are what one worker was told and what it came to: the causes of what the
// database wrote.
type WorkerSettings struct {
	Name      string  `json:"name"`
	Batch     float64 `json:"batch"`                  // most orders of one transaction
	Consumers float64 `json:"consumers"`              // transactions that may be in flight, at the end
	Ceiling   float64 `json:"ceiling_orders_per_s"`   // 0 is none
	Pace      float64 `json:"pace_orders_per_s"`      // at the end
	Target    float64 `json:"target_commit_p90_ms"`   // at the end
	P90       float64 `json:"commit_p90_ms"`          // at the end
	LimitedBy string  `json:"limited_by"`             // at the end
	Orders    float64 `json:"orders"`                 // made while it was watched
	PerCommit float64 `json:"orders_per_transaction"` // of those
	Commits   float64 `json:"order_transactions_per_s"`
}

// Writes are the rows that the database inserted, updated and deleted, and the time in
// which the workers wrote.
type Writes struct {
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"`
}

// PerSecond is 0 when nothing was written.
func (w Writes) PerSecond() float64 {
	if w.Seconds <= 0 {
		return 0
	}
	return math.Round(10*float64(w.Rows)/w.Seconds) / 10
}
