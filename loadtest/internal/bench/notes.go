package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/report"
)

// notes say in words how the figures came about and what they do not say.
func (b *bench) notes() []string {
	all := []string{
		fmt.Sprintf("Client, gateways, worker and stores share one machine over loopback, without TLS. The client is a closed loop over "+
			"keep-alive connections, %d where a name says 512 and %d where it says 64 or nothing; refusals have %d.", b.Many, b.Few, b.Many),
		"Requests to the empty handler are the same as to the gateway, token included; what the client costs is in both, and draws a ratio towards 1.",
		"refusal_allocs_more: heap allocations of the process (" + mallocs + ") for each request, connections and reading that counter included, less those " +
			"of the empty handler's process for the same requests.",
		"half_rate: both at half of the round's refusals a second, open loop; a latency counts from when a request was due, " +
			"and so includes what this client's timer was late, in both.",
		"accept: every attempt is of another buyer, with a token to verify; 202 comes after a hand-over that the stream has fsynced. " +
			"The worker is halted (SIGSTOP), except where a name says worker_running.",
		"one_by_one: a second gateway on the same stores with " + strings.Join(OneByOne(), " ") +
			"; with 128, 256 or 512 calls in flight, each up to its acknowledgement, it was no faster when that was tried.",
		fmt.Sprintf("orders: the worker on a backlog of %d reservations, tickets settled and messages acknowledged. raw_batch: the same rows, %d a "+
			"statement and transaction, into a copy of the table with its indexes, constraints and older rows; nothing is checked or settled. one_per_tx: "+
			"the same, one row a transaction. Each over one connection: with more, commits would share an fsync. cpu_ms_per_1000: CPU time for 1000 orders "+
			"or rows; of the one gateway that accepted them, and of all processes of Postgres.", b.Backlog, orderrows.MaxBatch),
		fmt.Sprintf("polling: %d tickets polled as told, all queued, the worker halted: at first they are told to come back as if workers were about to "+
			"begin (polls_fresh), later, as nothing moves, as late as it gets (polls, spread at random at the begin of a round, with %d long-polls beside "+
			"them; poll_capacity too). woken: milliseconds since the worker went on.", b.Polled, b.LongPolls),
		fmt.Sprintf("quotes: %d random carts a round, %d coupons that all combine and %d lines; %d of them also by brute force: every set that the rules allow is priced "+
			"anew, by the same code. One goroutine of this program, the stack idle beside it.", b.Quotes, cartCoupons, cartLines, b.TriedAll),
		"cores: servers are the gateway (accept: Redis, NATS and the worker too; poll_capacity: Redis too); others are everything else on this " +
			"machine: kernel, Postgres, and programs that have nothing to do with it.",
		"The verdict is not about speed: it fails for orders that are lost, doubled, unasked for or not in the stock, and for what could not be measured.",
	}
	return append(all, b.limits()...)
}

// quietCores is what the rest of a quiet machine uses at most.
const quietCores = 0.1

// limits say where the client was the limit and what else went wrong.
func (b *bench) limits() []string {
	figures := report.Spreads(b.rounds)
	var limited, notes []string
	if foreign := max(figures[others(emptyName(b.many()))].Max, figures[others(refusalName)].Max); foreign > quietCores {
		notes = append(notes, fmt.Sprintf("The machine was not quiet: other programs used up to %.2f cores where only the client and one server ran. "+
			"Rates are lower than they could be; a ratio is still of two figures taken one after the other.", foreign))
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if measured, ok := strings.CutSuffix(name, client("")); ok && figures[name].Median > figures[servers(measured)].Median {
			limited = append(limited, fmt.Sprintf("%s (client %.2f, servers %.2f)", measured, figures[name].Median, figures[servers(measured)].Median))
		}
	}
	if len(limited) > 0 {
		notes = append(notes, "The client took more CPU than the servers, so that it was the limit as much as they were, in: "+strings.Join(limited, ", ")+".")
	}
	for _, name := range slices.Sorted(maps.Keys(b.unwanted)) {
		if n := b.unwanted[name]; n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d answers were not the wanted ones; rates count only those that were.", name, n))
		}
	}
	return notes
}
