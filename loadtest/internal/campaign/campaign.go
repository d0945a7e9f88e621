// Package campaign is one attack on a running stack: a mix that arrives by a schedule,
// sent by one or several processes.
//
//	campaign ──plan──► sender 0 ──attempts 0, n, 2n, …────► gateways
//	         ──plan──► sender 1 ──attempts 1, n+1, 2n+1, …─► gateways
//	         ◄──ready, progress, sent, result──
//
// A plan goes in on stdin, and what happened comes out on stdout as JSON, a message a
// line; histograms are merged bucket by bucket, so percentiles are those of the whole.
// Senders are out of the terminal's reach: they end when this process tells them to, and
// then still say what happened. A sender that dies takes its latencies along; what it
// had counted by its last message is kept.
package campaign

import (
	"context"
	"fmt"
	"io"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
)

// Config of a campaign.
type Config struct {
	Mix         mix.Mix
	Arrivals    pacer.Arrivals
	First       int           // number of the first attempt: a campaign that goes on where another ended has new buyers
	Processes   int           // senders
	Connections int           // of each sender, to each gateway at most
	Timeout     time.Duration // of one attempt
	Quiet       bool          // no line a second
}

// Target is what is attacked.
type Target struct {
	Stack   stack.Info
	OpensAt map[string]time.Time // by sale; those that are missing count as open
	Program string               // path of loadtest, whose children send
	Started func(pids []int)     // is told the processes that send beside this one, before the first attempt; may be nil
}

// Outcome is what a campaign found.
type Outcome struct {
	Planned     int                       // attempts
	Sent        int                       // and answered: no answer in time, or a connection that broke, is a fault, which is an answer here
	Buyers      int                       // who sent them
	Latency     map[string]record.Summary // by class, such as in_stock.accepted; from the moment each attempt was due
	Steps       []Step                    // of the schedule
	Counts      map[string]int            // attempts by class, those of senders that died included
	Late        attack.Lateness
	Fault       string // the first, "" without
	Winners     []Winner
	Unrecorded  int // answers with tickets of winners beyond those that are kept
	Follows     Follows
	Began       time.Time     // when the first attempt was due
	Took        time.Duration // from then until the last attempt was answered
	Interrupted bool          // ended before all attempts were sent, as ctx did
	Senders     []Sender
	Usage       Usage
	Limit       Limit  // of the first step that had one
	Words       string // what the limit was, with the figures that show it
}

// Step is what came of the attempts that were due at one rate.
type Step struct {
	PerSecond float64                   `json:"per_second"`
	Answered  int64                     `json:"answered"`
	Latency   map[string]record.Summary `json:"latency"` // by what the sale was: early, in_stock, sold_out, closed
	Late      attack.Lateness           `json:"lateness"`
	Usage     Usage                     `json:"cores"` // while its attempts were due, the last until all were answered
	Limit     Limit                     `json:"limit"`
	Words     string                    `json:"words"`
}

// Sender is what one process did.
type Sender struct {
	Name       string  `json:"name"`
	Sent       int     `json:"sent"`
	CPUSeconds float64 `json:"cpu_seconds"`
	ResidentMB float64 `json:"resident_mb"`
	Died       string  `json:"died,omitempty"` // how, "" when it reported
}

// PerSecond is how many attempts were sent a second.
func (o Outcome) PerSecond() float64 {
	if o.Took <= 0 {
		return 0
	}
	return float64(o.Sent) / o.Took.Seconds()
}

// By adds up the attempts of classes that end with an outcome's name.
func (o Outcome) By(outcome string) int { return o.outcomes()[outcome] }

// outcomes adds the classes up, whatever the sale was.
func (o Outcome) outcomes() map[string]int {
	sum := make(map[string]int)
	for class, n := range o.Counts {
		sum[outcomeOf(class)] += n
	}
	return sum
}

// Run attacks until all attempts are answered and the tickets that are followed have
// their outcome, or ctx ends: then what is under way is answered, and it is no error.
func Run(ctx context.Context, c Config, t Target, out io.Writer) (Outcome, error) {
	if err := c.check(t); err != nil {
		return Outcome{}, err
	}
	r := &run{Config: c, Target: t, out: out, schedule: c.Arrivals.Schedule(), grace: followPatient + slack}
	return r.run(ctx)
}

func (c Config) check(t Target) error {
	if err := c.Arrivals.Check(); err != nil {
		return err
	}
	if err := c.Mix.Check(); err != nil {
		return err
	}
	switch {
	case c.Processes < 1 || c.Processes > MostProcesses:
		return fmt.Errorf("an attack has 1 to %d sender processes, not %d", MostProcesses, c.Processes)
	case c.Connections < 1:
		return fmt.Errorf("a sender has 1 connection at least, not %d", c.Connections)
	case c.Timeout <= 0:
		return fmt.Errorf("an attempt needs some time, not %s", c.Timeout)
	case len(t.Stack.Gateways) == 0:
		return fmt.Errorf("the stack has no gateway to attack")
	case t.Program == "":
		return fmt.Errorf("senders need a program")
	}
	return nil
}

// Most that a campaign may have.
const (
	MostProcesses   = 16     // senders of a campaign
	MostConnections = 20_000 // of all of them: one address has ports for so many, to one gateway
)
