package compare

import (
	"fmt"
	"strings"

	"sluice/loadtest/internal/report"
)

// saleNotes say how the figures of the sale of goods came about.
func (r *run) saleNotes() []string {
	c := r.Sale
	all := []string{
		fmt.Sprintf("sale: %s. Attempts go out in an order drawn at random with a fixed seed, the same one each time, over %d keep-alive connections, each with one attempt under way, half of them to each of two gateways or instances: "+
			"a closed loop, in which a slow system is asked less. Latencies count from when an attempt was sent. Each system first sells a smaller sale that is not measured (one part in %d), then a CHECKPOINT follows. In another round each system follows another one. "+
			"A baseline's processes and tables are new in each round; Sluice's processes are those of the whole run, halted (SIGSTOP) during the turns of baselines, and its tables grow.", c.scale(), c.Connections, warmPart),
		"sale: what is not the same for all: while Sluice sells its processes are asked for counters four times a second, which is its own CPU time; it goes on with what it does at rest, such as looking for expired orders; its caches and heaps are older than a few seconds, its connections to Postgres more. " +
			"Redis, NATS and Postgres are the same processes for all and keep what earlier turns left in their memory and files.",
		"sale: last_order_s is the time from the first attempt until the last order row, as Postgres has it: max(created_at), when the row's transaction began, for every system alike; the client's clock is the same machine's. " +
			"until_units_s: the same for the row with which there are as many as units, left out where there never were. " +
			"A system that oversells makes more orders than there are units, and last_order_s is the time for all of them: so is sale_vs_read_check_insert. sale_until_units_vs_… compare the times until as many orders as units. Sluice and one_by_one answer 202 before it, the others 201 with it.",
		"sale: order_layer counts attempts that come to where orders are decided: to the database, or to a store before it that knows the stock (Sluice: entered reserve; one_by_one: EVALSHA). " +
			"over and doubles are counted in Postgres by one statement for all.",
		"sale: db_rows are inserted, updated and deleted ones, db_transactions all that ended, read-only ones and the tool's own few included, by Postgres's statistics, from the first attempt until they stop growing; a second: by the time until the last answer and the last order row. " +
			"Sluice writes a row for an order, many in a transaction, and writes it again only if its ticket could not show it at once.",
		fmt.Sprintf("sale: Sluice is %d gateways and %d workers with default settings, its token check that of the baselines (one key, HS256, the same cache). The baselines' connections to Postgres are as many as served conditional_update best. They know no pause, window, price change, recovery or audit.", saleGateways, len(r.Stack.Workers)),
	}
	for _, b := range ofGoods() {
		all = append(all, b.Notes()...)
	}
	return all
}

// scale says in words what a round of the sale is.
func (d SaleDemand) scale() string {
	return fmt.Sprintf("%s of %d units, %d buyers, %d attempts over %d connections", rounds(d.Rounds), d.Units, d.Buyers, d.attempts(), d.Connections)
}

// sale is the table of the systems that sold goods, in Markdown.
func (r Result) sale() string {
	if len(r.Report.Sold) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; medians:\n\n%s\nSluice: %s.\n\n", r.config.Sale.scale(), report.SoldTable(r.Report.Sold), r.verdicts[PartSale])
	return text.String()
}
