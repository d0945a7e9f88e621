// Package demo runs one whole flash sale against a stack and judges it: buyers
// who come too early, buyers who click five times at once, a storm on what is
// sold out, and winners who poll until they know.
package demo

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

const (
	connections    = 192  // of the attack, to each gateway at most
	following      = 1024 // connections of the winners, to each gateway at most: one that waits for news has one
	answerTimeout  = 10 * time.Second
	outcomePatient = 30 * time.Second // for the last ticket after the last attempt
	restPatience   = 20 * time.Second // for the stores after the last ticket
	reportPatience = 40 * time.Second // for everything that judges
	tokenTTL       = time.Hour
	sampleSize     = 50 // winners who ask for their tickets after the sale
	seed           = 20261201
)

// Gateway to attack.
type Gateway struct{ URL, OpsURL string }

// Target is the stack to run against.
type Target struct {
	SaleID                 string
	OpensAt                time.Time // of the sale, far enough ahead for Lead
	Gateways               []Gateway
	JWTKey                 []byte
	JWTIssuer, JWTAudience string
	Stores                 *collect.Stores
	Stack                  func() stack.Info // as it is at the moment, to be watched
}

// Preparation is what a run needs before its first buyers come.
const Preparation = time.Second

// Lead is how long before the opening the first buyers come.
func Lead() time.Duration { return gather(1, seed).opensAt }

// run is one demonstration.
type run struct {
	Target
	out    io.Writer
	crowd  crowd
	tokens []string // by buyer
	tally  *tally
	buyers *attack.Buyers

	timeline []report.Sample // of the attack
	seen     collect.Seen    // while it lasted
}

// Run sends the crowd, waits for every outcome, and judges. When ctx ends early
// it still reports what happened so far, as a failure.
func Run(ctx context.Context, target Target, out io.Writer) (report.Report, error) {
	r := &run{
		Target: target, out: out,
		crowd: gather(len(target.Gateways), seed), tally: newTally(target.OpensAt),
		buyers: attack.NewBuyers(following, answerTimeout),
	}
	defer r.buyers.Close()
	if err := r.mint(); err != nil {
		return report.Report{}, err
	}
	if r.start().Before(time.Now()) {
		return report.Report{}, fmt.Errorf("cannot start the crowd: the sale opens at %s, which is too soon", target.OpensAt.Format(time.TimeOnly))
	}
	before, err := target.Stores.Writes(ctx)
	if err != nil {
		return report.Report{}, err
	}
	late, err := r.watched(ctx)
	if err != nil {
		return report.Report{}, err
	}
	r.say("attack over: %s", late)

	// What follows is owed even to somebody who pressed Ctrl-C.
	judging, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportPatience)
	defer cancel()
	f := findings{late: late, writesBefore: before, sample: r.askForTickets(judging)}
	if ctx.Err() != nil {
		f.interrupted = fmt.Errorf("the run was interrupted: %w", ctx.Err())
	}
	return r.judge(judging, f), nil
}

// start is when the first buyers come.
func (r *run) start() time.Time { return r.OpensAt.Add(-r.crowd.opensAt) }

// mint makes a token for every buyer, on all cores.
func (r *run) mint() error {
	r.tokens = make([]string, Buyers)
	now := time.Now()
	errs := make([]error, minters)
	var wait sync.WaitGroup
	for part := range minters {
		wait.Go(func() {
			for buyer := part; buyer < Buyers && errs[part] == nil; buyer += minters {
				r.tokens[buyer], errs[part] = auth.Mint(r.JWTKey, r.JWTIssuer, r.JWTAudience, userID(buyer), sale.Claims{}, now, tokenTTL)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const minters = 4

func (r *run) say(format string, args ...any) {
	// A progress line that cannot be printed is no reason to stop a sale.
	_, _ = fmt.Fprintf(r.out, "%s  %s\n", time.Now().Format("15:04:05.0"), fmt.Sprintf(format, args...))
}
