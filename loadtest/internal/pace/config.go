package pace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/orderrows"
)

// Config is what a run measures, and for how long.
type Config struct {
	Only    []string      `json:"only"` // names of scenarios; all when empty
	Rounds  int           `json:"rounds"`
	Settle  time.Duration `json:"settle_ns"` // from a change until it is judged
	Slow    time.Duration `json:"slow_ns"`   // the same of latency: a slow database is told from a busy one by and by
	Judge   time.Duration `json:"judge_ns"`  // for how long it is judged then
	Fixed   time.Duration `json:"fixed_ns"`  // of one fixed setting, a third of it to warm up
	Share   time.Duration `json:"share_ns"`  // from the start of a second worker until both are judged
	Quiet   time.Duration `json:"quiet_ns"`  // of the small sale, alone and beside the large one
	Batch   int           `json:"batch"`     // orders in a transaction of throttle, latency and shares: a hand-over; orderrows.MaxBatch leaves it to the worker
	Backlog int           `json:"backlog"`   // reservations that are there before the worker
	Traffic int           `json:"traffic"`   // attempts a second of the small sale of fair and stuck
	Steps   []Step        `json:"steps"`     // of throttle
	Sweep   []int         `json:"sweep"`     // consumers of the fixed settings

	// For a machine that may be busy with anything: there the database is so narrow, and
	// a pace takes so long, that what else goes on matters little.
	Base      int           `json:"base"`          // commits a second that throttle begins with; 0 is what the database bears
	Target    time.Duration `json:"target_ns"`     // of the p90 in throttle; 0 is the worker's default
	LeastWait time.Duration `json:"least_wait_ns"` // a wait alone counts as so long at least
}

// Step is a part of what the database commits without a throttle; 0 is no throttle.
type Step struct {
	Name string `json:"name"`
	Over int    `json:"over"`
}

var (
	half   = Step{"half", 2}
	eighth = Step{"eighth", 8}
	free   = Step{"free", 0}
)

// Small is the size for every day.
func Small() Config {
	return Config{Rounds: 1, Settle: 10 * time.Second, Slow: 15 * time.Second, Judge: 5 * time.Second, Fixed: 4500 * time.Millisecond,
		Share: 25 * time.Second, Quiet: 8 * time.Second, Batch: orderrows.MaxBatch, Backlog: 50_000, Traffic: 50, Steps: []Step{half, eighth, free}, Sweep: []int{1, 2, 4, 8}}
}

// Full is the size whose figures are to be told to others.
func Full() Config {
	c := Small()
	c.Rounds, c.Slow, c.Judge, c.Fixed, c.Share, c.Quiet = 3, 20*time.Second, 10*time.Second, 9*time.Second, time.Minute, 20*time.Second
	return c
}

// Quick is a size that shows, on any machine, that everything still runs and that the
// pace is right by far.
func Quick() Config {
	return Config{Rounds: 1, Settle: 4 * time.Second, Slow: 20 * time.Second, Judge: 2 * time.Second, Fixed: 1500 * time.Millisecond,
		Share: 4 * time.Second, Quiet: 3 * time.Second, Batch: 25, Backlog: 2000, Traffic: 20, Steps: []Step{half, free}, Sweep: []int{8},
		Base: 40, Target: 200 * time.Millisecond, LeastWait: 200 * time.Millisecond}
}

// Names of the scenarios, in their order.
func Names() []string {
	names := make([]string, 0, len(scenarios))
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// Check finds names that are none, and sizes that cannot be.
func (c Config) Check() error {
	if most := handOver; c.Batch != orderrows.MaxBatch && (c.Batch < 1 || c.Batch > most) {
		return fmt.Errorf("batch must be 1 to %d, or %d for as many as the worker takes, is %d", most, orderrows.MaxBatch, c.Batch)
	}
	for _, name := range c.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown scenario %q: name some of %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// has reports whether a scenario is to be run.
func (c Config) has(name string) bool { return len(c.Only) == 0 || slices.Contains(c.Only, name) }

// units of a sale that must not sell out.
const units = 10_000_000

// salesFile is the file with sales that are open at now.
func salesFile(ids []string, now time.Time) []byte {
	var text bytes.Buffer
	text.WriteString("sales:\n")
	for _, id := range ids {
		fmt.Fprintf(&text, "  - {id: %s, total: %d, price: %d, opens_at: %s, closes_at: %s}\n", id, units, priceMinor,
			now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	return text.Bytes()
}

// numbered names n sales.
func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("sale-%d", i+1)
	}
	return ids
}
