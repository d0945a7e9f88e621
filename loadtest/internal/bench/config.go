package bench

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Config is how large a bench is.
type Config struct {
	Rounds     int           `json:"rounds"`
	Stage      time.Duration `json:"stage_ns"`   // of one measurement, after a sixth of it to warm up
	Many       int           `json:"many"`       // connections of what is named 512
	Few        int           `json:"few"`        // connections of what is named 64
	Backlog    int           `json:"backlog"`    // reservations that the worker orders
	LongPolls  int           `json:"long_polls"` // tickets that wait for their outcome
	Polled     int           `json:"polled"`     // tickets polled as told
	PollWindow time.Duration `json:"poll_window_ns"`
	Quotes     int           `json:"quotes"`    // carts that are priced in a round
	TriedAll   int           `json:"tried_all"` // of these by brute force too
	Only       string        `json:"only"`      // one of Parts, or "" for everything
}

// Parts of a bench, each of which can be measured alone.
const (
	PartRefusal = "refusal"
	PartAccept  = "accept"
	PartOrders  = "orders"
	PartQuotes  = "quotes"
	PartPolling = "polling"
	PartSale    = "sale"   // by package compare
	PartGrowth  = "growth" // by package growth
)

// Parts are what can be measured alone.
func Parts() []string {
	return []string{PartRefusal, PartAccept, PartOrders, PartQuotes, PartPolling, PartSale, PartGrowth}
}

// OwnStack says whether anything is to be measured that has no stacks of its own.
func (c Config) OwnStack() bool { return c.Only != PartSale && c.Only != PartGrowth }

// Takes says whether a part is to be measured.
func (c Config) Takes(part string) bool { return c.Only == "" || c.Only == part }

// Full is the configuration whose figures mean something.
func Full(rounds int, stage time.Duration) Config {
	return Config{Rounds: rounds, Stage: stage, Many: 512, Few: 64, Backlog: 50_000,
		LongPolls: 5000, Polled: 20_000, PollWindow: 3 * stage, Quotes: 2000, TriedAll: 100}
}

// Quick is a configuration that only shows that everything still runs.
func Quick() Config {
	return Config{Rounds: 1, Stage: 500 * time.Millisecond, Many: 16, Few: 4, Backlog: 1200,
		LongPolls: 50, Polled: 400, PollWindow: time.Second, Quotes: 20, TriedAll: 2}
}

func (c Config) warm() time.Duration { return c.Stage / 6 }

// width is how many connections a measurement has, and its name.
type width struct {
	name        string
	connections int
}

func (c Config) many() width { return width{"512", c.Many} }
func (c Config) few() width  { return width{"64", c.Few} }

// mostPerSecond is more attempts than a gateway accepts here: who measures
// acceptance runs out of time, not of buyers.
const mostPerSecond = 60_000

func (c Config) mostBuyers() int {
	most := c.Backlog
	if c.Takes(PartAccept) {
		most = max(most, int((c.warm()+c.Stage).Seconds()*mostPerSecond))
	}
	if c.Takes(PartPolling) {
		most = max(most, c.LongPolls+c.Polled)
	}
	return most
}

const (
	soldOutSale = "sold-out"
	pollingSale = "polling"
	units       = 10_000_000 // of a sale that must not sell out
)

// saleOf names the sale of one measurement in one round: each has its own, so that
// all meet one as empty as the others.
func saleOf(measurement string, round int) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(measurement, "_", "-"), round+1)
}

// SalesFile is the file with the sales that a bench needs, open at now.
func SalesFile(c Config, now time.Time) []byte {
	var text bytes.Buffer
	sale := func(id string, total int) {
		fmt.Fprintf(&text, "  - {id: %s, total: %d, price: 100, opens_at: %s, closes_at: %s}\n", id, total,
			now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	text.WriteString("sales:\n")
	sale(soldOutSale, 1)
	sale(pollingSale, units)
	for n := range c.Rounds + 1 { // once more, with a profile
		for _, w := range []width{c.many(), c.few()} {
			for _, name := range []string{acceptName(w), runningName(w), oneByOneName(w)} {
				sale(saleOf(name, n), units)
			}
		}
		sale(saleOf(ordersName, n), units)
	}
	return text.Bytes()
}
