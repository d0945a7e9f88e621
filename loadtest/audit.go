package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// errVerdict ends a command whose verdict, already printed, is fail.
var errVerdict = errors.New("verdict: fail")

// auditCommand audits the sales of a running stack.
func auditCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("audit", flag.ContinueOnError)
	stackFile := fs.String("stack", "out/up/stack.json", "`file` that describes the running stack, whose Redis may be one server, a cluster or Sentinel")
	saleID := fs.String("sale", "", "`id` of the sale to audit; all loaded sales when empty")
	patience := fs.Duration("wait", 10*time.Second, "how long a sale may take to come to rest")
	out := fs.String("out", "out/audit", "`directory` of report.json and report.html")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	info, err := stack.ReadInfo(*stackFile)
	if err != nil {
		return service.UsageErrorf("-stack (SLUICE_STACK): %v", err)
	}
	log, err := service.NewLogger(stderr, "audit", "warn")
	if err != nil {
		return err
	}
	rep, err := auditStores(ctx, storeURLs(info), log, *saleID, *patience, stdout)
	if err != nil {
		return err
	}
	rep.Config = map[string]any{"stack": *stackFile, "sale": *saleID, "wait_s": patience.Seconds()}
	if err := rep.Write(*out); err != nil {
		return err
	}
	if err := rep.PrintVerdict(stdout); err != nil {
		return err
	}
	if !rep.Verdict.Pass {
		return errVerdict
	}
	return nil
}

func storeURLs(info stack.Info) collect.URLs {
	return collect.URLs{Redis: info.Redis.URL, NATS: info.NATS.URL, Postgres: info.Postgres.URL}
}

// auditStores audits one sale, or every loaded one, prints a line each and sums
// them up. Violations name their sale.
func auditStores(ctx context.Context, urls collect.URLs, log *slog.Logger, saleID string, patience time.Duration, out io.Writer) (report.Report, error) {
	rep := report.Report{Verdict: sale.Verdict{Pass: true, AtRest: true}, Machine: report.ThisMachine()}
	stores, err := collect.Open(ctx, urls, log)
	if err != nil {
		return rep, err
	}
	defer stores.Close() // it only read
	ids, err := salesToAudit(ctx, stores, saleID)
	if err != nil {
		return rep, err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "sale\tat rest\ttotal\theld\tRedis stock\torders\trejected\ttickets\tviolations") // Flush reports a failure
	for _, id := range ids {
		e, verdict, err := stores.Audit(ctx, id, nil, patience)
		if err != nil {
			return rep, err
		}
		orders := report.CountOrders(e.Orders)
		fmt.Fprintf(t, "%s\t%t\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", id, verdict.AtRest, e.Total, e.Held, e.Redis.Stock,
			orders.Total, orders.Rejected, len(e.Redis.Tickets), len(verdict.Violations))
		rep.Orders = rep.Orders.Plus(orders)
		rep.Verdict.AtRest = rep.Verdict.AtRest && verdict.AtRest
		for _, v := range verdict.Violations {
			rep.Fail(v.Invariant, "sale %s: %s", id, v.Detail)
		}
	}
	if err := t.Flush(); err != nil {
		return rep, fmt.Errorf("cannot print audit: %w", err)
	}
	if saleID != "" {
		return rep, nil
	}
	astray, err := stores.Postgres.PaymentsAstray(ctx, sale.MaxNamed)
	for _, p := range astray {
		rep.Fail("I3", "payment event %s of order %s is %s, and no sale has such an order", p.EventID, p.OrderID, p.Result)
	}
	return rep, err
}

// salesToAudit is the one that was asked for, or every sale that was ever loaded.
func salesToAudit(ctx context.Context, stores *collect.Stores, saleID string) ([]string, error) {
	if saleID != "" {
		return []string{saleID}, nil
	}
	entries, err := stores.Postgres.Entries(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.Epoch > 0 && !e.Retired {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}
