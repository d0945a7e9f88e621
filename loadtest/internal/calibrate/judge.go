package calibrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// inStock begins the classes of attempts whose sale had units left.
const inStock = "in_stock."

// leastAnswers is how many it takes for a p99 to mean something.
const leastAnswers = 200

// Observed is what one try saw.
type Observed struct {
	Planned, Sent int                       // attempts
	Counts        map[string]int            // attempts by class
	Latency       map[string]record.Summary // by class, in ms from the due time
	Tool          bool                      // the tool or its connections were the limit
	Machine       bool                      // it was full, and much of it not taken by the stack
	Late          time.Duration             // by which the latest attempt was sent; 0 when too few were late for a p99
	Meant         int                       // attempts for sales that should have units left
}

// Judged is what a try says of its rate.
type Judged struct {
	Verdict Verdict        `json:"verdict"`
	Why     string         `json:"why"`
	Class   string         `json:"class"`  // with the highest p99 of those that are judged
	P50     float64        `json:"p50_ms"` // of that class
	P99     float64        `json:"p99_ms"`
	Refused map[string]int `json:"refused_by_overload"` // by outcome
	Few     []string       `json:"not_judged"`          // classes that had too few answers for a p99
}

// Judge holds a try against the target, in milliseconds. It is an error when a try says
// nothing about its rate, nor would another.
//
// A latency counts from when the attempt was due, so one under the target is under it
// even if the tool was late by a part of it. One above the target is the server's only if
// the tool was not the limit, or was never late by enough to explain it. What the gateway
// refused by overload it refused, whoever was late. But of a server that others had taken
// the machine from neither says what it bears.
func Judge(o Observed, targetMS float64) (Judged, error) {
	j := Judged{Refused: overload(o.Counts)}
	for _, class := range slices.Sorted(maps.Keys(o.Latency)) {
		switch s := o.Latency[class]; {
		case !judged(class):
		case s.Count < leastAnswers:
			j.Few = append(j.Few, class)
		case s.P99 > j.P99:
			j.Class, j.P50, j.P99 = class, s.P50, s.P99
		}
	}
	if err := o.unfit(j); err != nil {
		return j, err
	}
	missed := o.missed(j, targetMS)
	if server := serverRefused(j.Refused); len(server) > 0 {
		missed = "refused: " + strings.Join(server, ", ")
	}
	switch {
	case missed == "":
		j.Verdict = Passes
	case o.Machine:
		j.Verdict, j.Why = Unclear, missed+"; much of the full machine was not the stack's"
	case o.Tool && len(serverRefused(j.Refused)) == 0 && j.P99-float64(o.Late.Milliseconds()) <= targetMS:
		j.Verdict, j.Why = Unclear, missed+"; the tool was late"
	default:
		j.Verdict, j.Why = Fails, missed
	}
	return j, nil
}

// missed says what was not kept at a rate; "" when everything was.
func (o Observed) missed(j Judged, targetMS float64) string {
	switch {
	case j.Refused[attack.OutcomeFault] > 0:
		return fmt.Sprintf("%d without an answer", j.Refused[attack.OutcomeFault])
	case o.Sent < o.Planned:
		return fmt.Sprintf("only %d of %d attempts were sent in time", o.Sent, o.Planned)
	case j.P99 > targetMS:
		return fmt.Sprintf("p99 of %s above %g ms", j.Class, targetMS)
	}
	return ""
}

// unfit says why a try says nothing about overload.
func (o Observed) unfit(j Judged) error {
	for _, wrong := range []sale.Outcome{sale.Unauthenticated, sale.NoSuchSale, sale.Invalid, sale.TooLarge} {
		if n := j.Refused[wrong.String()]; n > 0 {
			return fmt.Errorf("the attempts do not fit the stack: %d were answered %s", n, wrong)
		}
	}
	if n := j.Refused[sale.TooMany.String()]; n > 0 {
		return fmt.Errorf("%d attempts were refused as too many of one address or user, which is no overload: the tool has one address. For the test start the gateways with -address-rate 0 -user-rate 0 -max-connections-per-address 0", n)
	}
	found := 0
	for class, n := range o.Counts {
		if strings.HasPrefix(class, inStock) {
			found += n
		}
	}
	if found < o.Meant*9/10 {
		return fmt.Errorf("of %d attempts for sales with stock only %d found any (%s): give these sales more units, and see that they are open", o.Meant, found, listed(o.Counts))
	}
	if j.Class == "" && len(j.Refused) == 0 {
		return fmt.Errorf("cannot judge a p99 of fewer than %d answers of a kind (%s): try for longer, or at a higher rate", leastAnswers, listed(o.Counts))
	}
	return nil
}

// judged are the classes that the target is for: attempts that found stock and were
// given a ticket, a new one or the one that the buyer had.
func judged(class string) bool {
	switch class {
	case inStock + sale.Accepted.String(), inStock + sale.Confirmed.String(), inStock + sale.Replay.String():
		return true
	}
	return false
}

// ordinary are the outcomes that overload has no part in.
var ordinary = map[string]bool{
	sale.Accepted.String(): true, sale.Confirmed.String(): true, sale.Replay.String(): true, sale.SoldOut.String(): true,
	sale.NotOpen.String(): true, sale.OutOfWindow.String(): true, sale.LimitReached.String(): true, sale.Rejected.String(): true,
	sale.NotEligible.String(): true,
}

// overload counts what should not have been, by outcome: refusals by admission, limits
// and faults. An answer that nobody knows is one of them.
func overload(counts map[string]int) map[string]int {
	refused := make(map[string]int)
	for class, n := range counts {
		if name := outcome(class); n > 0 && !ordinary[name] && !strings.HasPrefix(class, "poll.") {
			refused[name] += n
		}
	}
	return refused
}

// outcome is the last part of a class.
func outcome(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// serverRefused lists what the gateway itself refused, which a fault may not be.
func serverRefused(refused map[string]int) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if name != attack.OutcomeFault {
			list = append(list, fmt.Sprintf("%d %s", refused[name], name))
		}
	}
	return list
}

// listed are the attempts by class.
func listed(counts map[string]int) string {
	if len(counts) == 0 {
		return "nothing was answered"
	}
	list := make([]string, 0, len(counts))
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[class], class))
	}
	return strings.Join(list, ", ")
}
