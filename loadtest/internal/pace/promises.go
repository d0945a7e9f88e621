package pace

import (
	"io"

	"sluice/loadtest/internal/report"
)

// promise is a bound on a figure.
type promise struct {
	scenario, figure, text string
	atLeast                bool
	bound                  float64
}

// promises are what is held against the figures, in the order of the scenarios.
var promises = append(throttlePromises(),
	promise{"throttle", "throttle_redelivered", "throttle: hand-overs delivered again, of all", false, 0.01},
	promise{"latency", "latency_vs_best_fixed", "every commit 200 ms slower: orders a second, of the best fixed number of consumers", true, 0.8},
	promise{"latency", "latency_limited_by_latency", "every commit 200 ms slower: part of the time that limited_by says latency", true, 0.8},
	promise{"shares", "shares_two_vs_one", "a second worker: orders a second of both, of what the first made alone", true, 0.8},
	promise{"shares", "shares_smaller_vs_larger", "a second worker: orders a second of the slower, of those of the faster", true, 0.8},
	promise{"drain", "drain_vs_raw_batch", "a backlog: orders a second, of a raw batched insert of the same rows", true, 0.7},
	promise{"fair", "fair_p95_vs_alone", "beside a sale with 100 times the traffic, and a queue: p95 queue wait, of that alone", false, 1.5},
	promise{"stuck", "stuck_p95_vs_alone", "beside a sale that is stuck: p95 queue wait, of that alone", false, 1.5},
)

func throttlePromises() []promise {
	var all []promise
	for _, s := range []struct{ step, text string }{
		{half.Name, "commits throttled to a half"}, {eighth.Name, "commits throttled to an eighth"}, {free.Name, "throttle taken away"},
	} {
		all = append(all,
			promise{"throttle", p90Figure(s.step), s.text + ", 10 s later: p90 of a commit, of its target", false, 1.5},
			promise{"throttle", bestFigure(s.step), s.text + ", 10 s later: orders a second, of the best fixed setting", true, 0.8})
	}
	return all
}

func p90Figure(step string) string  { return "throttle_" + step + "_p90_vs_target" }
func bestFigure(step string) string { return "throttle_" + step + "_vs_best_fixed" }

// skipped reports whether a figure is of a step that was not to be taken.
func (r *run) skipped(figure string) bool {
	for _, step := range []Step{half, eighth, free} {
		if figure != p90Figure(step.Name) && figure != bestFigure(step.Name) {
			continue
		}
		for _, taken := range r.Steps {
			if taken == step {
				return false
			}
		}
		return true
	}
	return false
}

// notes say how the figures came about and what they do not say.
var notes = []string{
	"Everything shares one machine over loopback. Reservations are taken and handed over by this program as a gateway does, over " +
		"several sales: order transactions of one sale follow each other. In throttle, latency and shares they have long queues, and the " +
		"worker makes batches as large as it can; with -batch there are many sales with one hand-over at a time, which is a batch. Rates are of rows made, by sluice_orders_total.",
	"fixed settings: -pace-floor, -pace-ceiling and -pace-target so high that they never limit, -consumers n. Nothing keeps their latency low: they are the most that can be had.",
	"throttle: the proxy lets a part of the commits a second through that the best fixed setting reached without. vs_admitted is of that many commits with a batch each. " +
		"Without the throttle the fixed settings are measured again at the end, and that counts: the machine drifts.",
	"p90 is the worker's own (sluice_pace_p90_seconds) over sluice_pace_target_seconds: the median of the samples while it is judged. commit_p90 is from the histogram " +
		"sluice_order_commit_seconds, whose buckets are wide. within_s is from a change until what is promised held for good.",
	"shares: two workers under the throttle that one had, a quarter of what is had without.",
	"queue wait: from being accepted until the ticket is confirmed, by Redis's clock.",
	"The verdict fails for an audit that does, and for a promise missed by more than a factor of three.",
}

// Print writes what was measured, and what to know about it.
func Print(w io.Writer, rep report.Report) error { return rep.PrintMeasured(w, notes) }
