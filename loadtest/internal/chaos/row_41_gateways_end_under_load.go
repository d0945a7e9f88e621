package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/wait"
)

// gatewaysEndUnderLoad: who is asked to end finishes what it has.
func gatewaysEndUnderLoad() Row {
	return Row{
		ID: "41", Name: "gateways-end-under-load", Short: true, Bound: 10 * time.Second,
		Fault:  "gateways and workers are asked to end (SIGTERM) under load, one after the other, and start again",
		Expect: "each finishes what it has in hand: whoever was let in has an answer; a connection that broke had nothing done for it",
		Run: func(ctx context.Context, r *Round) error {
			r.graceful = true
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			r.inject()
			for i, g := range r.stack.Info().Gateways {
				if err := r.endsInOrder(ctx, "gateway", i, g.OpsURL); err != nil {
					return err
				}
			}
			for i, w := range r.stack.Info().Workers {
				if err := r.endsInOrder(ctx, "worker", i, w.AdminURL); err != nil {
					return err
				}
			}
			r.heal()
			return r.recovered(ctx)
		},
	}
}

// endsInOrder asks a process to end and start again, and wants it unready before it is gone,
// and buyers of a gateway answered until then.
func (r *Round) endsInOrder(ctx context.Context, role string, index int, opsURL string) error {
	unready, gone, err := r.endsUnready(ctx, role, index, opsURL)
	if err != nil || role != "gateway" {
		return err
	}
	r.checks = append(r.checks, func(events []history.Event) {
		served := 0
		for _, e := range events {
			if e.Kind == history.Attempt && e.Status == http.StatusAccepted && r.at(e.User) == index && e.Ended > unready && e.Ended < gone {
				served++
			}
		}
		r.hit(served, "%d attempts were answered 202 by gateway-%d between that and its end", served, index)
		if served == 0 {
			r.fail("scenario", "gateway-%d had nothing in hand when it was asked to end", index)
		}
	})
	return nil
}

// endsUnready asks a process to end and start again, and returns when it was first unready
// and when it was gone.
func (r *Round) endsUnready(ctx context.Context, role string, index int, opsURL string) (unready, gone time.Duration, err error) {
	watched := r.watchEnd(ctx, opsURL)
	_, err = r.stack.Arm(ctx, role, index, "")
	unready, gone = watched()
	if err != nil {
		return 0, 0, err
	}
	if unready == 0 {
		return 0, 0, fmt.Errorf("%w %s-%d said that it is unready before it ended", errNot, role, index)
	}
	r.hit(1, "%s-%d was unready for %s before it ended", role, index, (gone - unready).Round(time.Millisecond))
	return unready, gone, nil
}

// at is the gateway that a buyer attempts at.
func (r *Round) at(user string) int {
	if buyer := r.buyer(user); buyer >= 0 {
		return buyer % r.gateways()
	}
	return -1
}

// buyer is the number of the buyer whom user calls so; -1 for nobody.
func (r *Round) buyer(user string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(user, r.saleID+"-buyer-"))
	if err != nil {
		return -1
	}
	return n
}

// watchEnd asks a process for its readiness until it has gone. What it returns ends that,
// and says when it was unready for the first time, 0 for never, and when it was gone.
func (r *Round) watchEnd(ctx context.Context, opsURL string) func() (unready, gone time.Duration) {
	ctx, stop := context.WithCancel(ctx)
	var unready, gone time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		for gone == 0 && wait.For(ctx, watchPause) {
			switch status, _, err := r.send(ctx, http.MethodGet, opsURL+"/readyz", "", ""); {
			case err != nil:
				gone = r.journal.Now()
			case status == http.StatusServiceUnavailable && unready == 0:
				unready = r.journal.Now()
			}
		}
	}()
	return func() (time.Duration, time.Duration) {
		stop()
		<-done
		return unready, gone
	}
}
