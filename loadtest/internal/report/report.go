// Package report writes what a run found: a JSON file that other people's scripts
// read, a page with charts, and tables for the terminal.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// Report of a run. Its JSON is a promise: members are added, never renamed.
type Report struct {
	Command      string                    `json:"command,omitempty"` // of loadtest; the page is named by its directory without
	Version      string                    `json:"version,omitempty"` // of the program that wrote it
	Verdict      sale.Verdict              `json:"verdict"`
	Interrupted  bool                      `json:"interrupted,omitempty"` // told to end before all was judged: no pass, and its violations are of what was
	Orders       Orders                    `json:"orders"`
	Funnel       map[string]Layer          `json:"funnel"`
	Latency      map[string]record.Summary `json:"latency"` // by class, in ms
	QueueWait    QueueWait                 `json:"queue_wait"`
	Timeline     []Sample                  `json:"timeline"` // empty when nobody watched
	DBWritesPerS float64                   `json:"db_writes_per_s"`
	Config       map[string]any            `json:"config"`
	Machine      Machine                   `json:"machine"`
	Ratios       map[string]Spread         `json:"ratios,omitempty"`          // by name
	Promises     []Promise                 `json:"promises,omitempty"`        // what was promised, and what was found
	Paces        []Pace                    `json:"paces,omitempty"`           // how workers paced themselves
	Compared     []Compared                `json:"compared,omitempty"`        // what several systems made of the same
	Sold         []Sold                    `json:"sold,omitempty"`            // the same, of a sale of goods
	Faults       []Fault                   `json:"faults,omitempty"`          // rows of the matrix, round by round
	Mutants      []Mutant                  `json:"mutants,omitempty"`         // what rows found while a protection was gone
	Growths      []Growth                  `json:"growths,omitempty"`         // what was in use over time, and whether it is flat
	Marks        []Mark                    `json:"marks,omitempty"`           // what was done to the run meanwhile
	Processes    []Process                 `json:"processes,omitempty"`       // what each process of the stack, and the tool, used
	Settings     []WorkerSettings          `json:"worker_settings,omitempty"` // what makes DBWritesPerS what it is
	Writes       Writes                    `json:"db_writes,omitzero"`        // what DBWritesPerS was made of
	Curves       []Curve                   `json:"curves,omitempty"`          // figures that grow with something
	Tables       []Table                   `json:"tables,omitempty"`          // for people
	Words        []string                  `json:"words,omitempty"`           // what was found, in words that claim no more than was seen
	NotMeasured  []string                  `json:"not_measured,omitempty"`    // what a reader might take for measured
}

// Orders counts order rows by state. Total leaves the rejected ones out.
type Orders struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Paid      int `json:"paid"`
	Expired   int `json:"expired"`
	Cancelled int `json:"cancelled"`
	Rejected  int `json:"rejected"`
	Refunded  int `json:"refunded"`
}

// CountOrders counts rows by state.
func CountOrders(rows []sale.Order) Orders {
	var o Orders
	for _, row := range rows {
		switch row.State {
		case sale.OrderPending:
			o.Pending++
		case sale.OrderPaid:
			o.Paid++
		case sale.OrderExpired:
			o.Expired++
		case sale.OrderCancelled:
			o.Cancelled++
		case sale.OrderRejected:
			o.Rejected++
		case sale.OrderRefunded:
			o.Refunded++
		}
	}
	o.Total = len(rows) - o.Rejected
	return o
}

// Plus adds up the counts of two sales.
func (o Orders) Plus(p Orders) Orders {
	return Orders{
		Total: o.Total + p.Total, Pending: o.Pending + p.Pending, Paid: o.Paid + p.Paid, Expired: o.Expired + p.Expired,
		Cancelled: o.Cancelled + p.Cancelled, Rejected: o.Rejected + p.Rejected, Refunded: o.Refunded + p.Refunded,
	}
}

// Layer of the funnel: what came in and how it left. What did not leave by an
// exit went on to the next layer.
type Layer struct {
	Entered int64            `json:"entered"`
	Exits   map[string]int64 `json:"exits"`
}

// QueueWait is how long reservations waited for their outcome, in seconds.
type QueueWait struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`

	Buckets []Bucket `json:"buckets"` // how many waited for how long; of one width, from zero
}

// Bucket counts the waits below UpTo seconds that no bucket before it counts.
type Bucket struct {
	UpTo  float64 `json:"up_to"`
	Count int64   `json:"count"`
}

// Sample is what Redis said of the sale at one moment, T seconds after it opened.
type Sample struct {
	T        float64 `json:"t"` // negative before the opening
	Stock    int64   `json:"stock"`
	Accepted int64   `json:"accepted"` // units ever taken
	Served   int64   `json:"served"`   // reservations with an outcome
	HandOff  int64   `json:"handoff"`  // reservations that JetStream has not acknowledged yet
}

// Machine is where a run ran.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// ThisMachine describes the machine that runs the caller.
func ThisMachine() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
}

// Fail adds a violation to the verdict.
func (r *Report) Fail(invariant, format string, args ...any) {
	r.Verdict.Pass = false
	r.Verdict.Violations = append(r.Verdict.Violations, sale.Violation{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

// Interrupt has the verdict say that the run was told to end before all was judged.
func (r *Report) Interrupt() { r.Interrupted, r.Verdict.Pass = true, false }

// word is the verdict.
func (r Report) word() string {
	switch {
	case r.Interrupted:
		return "interrupted"
	case r.Verdict.Pass:
		return "pass"
	default:
		return "fail"
	}
}

// Write puts the report at dir/report.json and, for people, at dir/report.html,
// each in one piece.
func (r Report) Write(dir string) error {
	r.Verdict.Violations, r.Timeline, r.QueueWait.Buckets = listed(r.Verdict.Violations), listed(r.Timeline), listed(r.QueueWait.Buckets)
	r.Faults, r.Mutants = slices.Clone(r.Faults), slices.Clone(r.Mutants)
	for i, f := range r.Faults {
		r.Faults[i].HitBy, r.Faults[i].Invariants, r.Faults[i].Violations = listed(f.HitBy), listed(f.Invariants), listed(f.Violations)
	}
	for i, m := range r.Mutants {
		r.Mutants[i].Expected, r.Mutants[i].Found = listed(m.Expected), listed(m.Found)
	}
	r.Funnel, r.Latency, r.Config = orEmpty(r.Funnel), orEmpty(r.Latency), orEmpty(r.Config)
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode report: %w", err)
	}
	var page bytes.Buffer
	if err := r.page(&page, cmp.Or(r.Command, filepath.Base(dir)), time.Now()); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	if err := replace(filepath.Join(dir, "report.json"), append(encoded, '\n')); err != nil {
		return err
	}
	return replace(filepath.Join(dir, "report.html"), page.Bytes())
}

// replace writes a file such that a reader sees all of it or none.
func replace(path string, content []byte) error {
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(draft, content, 0o644); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	return nil
}

// listed is a list that JSON has as one, be it empty.
func listed[V any](all []V) []V {
	if all == nil {
		return []V{}
	}
	return all
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
