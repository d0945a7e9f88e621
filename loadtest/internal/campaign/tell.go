package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tellProgress prints a line a second until it is stopped.
func (r *run) tellProgress(began time.Time) (stop func()) {
	if r.Quiet {
		return func() {}
	}
	done := make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		sent, said := 0, ""
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				line, now, over := r.line(sent)
				sent = now
				if over && line == said {
					continue // there is news of tickets only
				}
				said = line
				// A line that cannot be printed is no reason to stop.
				_, _ = fmt.Fprintf(r.out, "%s  %5.1f s  %s\n", time.Now().Format(time.TimeOnly), time.Since(began).Seconds(), line)
			}
		}
	})
	return func() {
		close(done)
		printer.Wait()
	}
}

// line says how far all senders are, how many attempts came since a line before, and
// whether all were sent.
func (r *run) line(before int) (line string, sent int, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	outcomes, followed := make(map[string]int), 0
	for _, p := range r.senders {
		sent += p.last.Sent
		followed += p.last.Followed
		for class, n := range p.last.Counts {
			outcomes[outcomeOf(class)] += n
		}
	}
	parts := []string{fmt.Sprintf("%d of %d answered (+%d)", sent, r.schedule.Attempts(), sent-before)}
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%s %d", outcome, outcomes[outcome]))
	}
	return strings.Join(append(parts, fmt.Sprintf("followed to their outcome %d", followed)), "  "), sent, r.sending == 0
}
