package bench

import (
	"fmt"

	"sluice/loadtest/internal/report"
)

// promises are the targets of the ratios, but of those that other packages measure. None is judged: a machine may be slow, and what
// keeps a ratio from its target is said beside it.
var promises = []report.Promise{
	atLeast("refusal_vs_empty", 0.90, "refusals a second, of the requests that an empty handler answers"),
	atMost(allocsMore, 2, "heap allocations of a refusal, beyond those of an empty handler"),
	atMost("refusal_p99_vs_empty", 2, "p99 of refusals at half of their top rate, of an empty handler's at the same rate"),
	atLeast("accept512_vs_one_by_one", 8, "512 connections: attempts accepted a second, of those by one call and one message each"),
	atLeast("accept512_vs_empty", 0.40, "512 connections: attempts accepted a second, of the requests that an empty handler answers"),
	atLeast("accept64_vs_one_by_one", 5, "64 connections: attempts accepted a second, of those by one call and one message each"),
	atLeast("accept64_vs_empty", 0.25, "64 connections: attempts accepted a second, of the requests that an empty handler answers"),
	atLeast("orders_vs_raw_batch", 0.7, "orders a second, of a raw batched insert of the same rows"),
	atLeast("orders_vs_one_per_tx", 20, "orders a second, of one row a transaction"),
	atMost(pollingShare, 0.2, "polls a second of 20,000 tickets polled as told, of the gateway's capacity for polls"),
	atLeast(bruteForceRatio, 20, "30 coupons, 20 lines: time of a brute force over all allowed sets, of the search"),
	atMost(quoteP99, 1, "30 coupons, 20 lines: p99 of a quote, in ms"),
}

func atLeast(name string, bound float64, text string) report.Promise {
	return report.Promise{Name: name, Text: text, AtLeast: true, Bound: bound}
}

func atMost(name string, bound float64, text string) report.Promise {
	return report.Promise{Name: name, Text: text, Bound: bound}
}

// promised says of every ratio with a target that was measured whether it is held, and of one
// that is not where to look, if nothing was said yet of what bounds it.
func (b *bench) promised(rep *report.Report) {
	for _, p := range promises {
		if found, measured := rep.Ratios[p.Name]; measured {
			promise(rep, p.Judge(found.Median), b.bounded[p.Name], "the CPU time of each program, in the figures of the rounds")
		}
	}
}

// promise notes one that was judged, and where to look if it is not held and it was not said
// what bounds it.
func promise(rep *report.Report, p report.Promise, bounded bool, look string) {
	rep.Promises = append(rep.Promises, p)
	if !p.Held && !bounded {
		rep.Words = append(rep.Words, fmt.Sprintf("%s is %s. No profile of that was taken: see %s.", p.Name, p.Found(), look))
	}
}
