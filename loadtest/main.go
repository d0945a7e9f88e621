// Command loadtest runs Sluice on one machine, attacks it, and audits what became
// of every attempt.
package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/bench"
	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/compare"
	"sluice/loadtest/internal/slowclients"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// do is what a command does.
type do func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error

// command is one thing that loadtest does.
type command struct {
	name, text string // text is "" for what other commands start as child processes
	do         do
}

func commands() []command {
	return []command{
		{"up", "a stack in the foreground", stack.Up},
		{"demo", "one whole flash sale, judged", demoCommand},
		{"cluster-demo", "the same on clustered stores, then with a server of each killed", clusterDemoCommand},
		{"attack", "load that looks like a sale, and what became of it", attackCommand},
		{"calibrate", "how many attempts a second a stack bears, and the limits to set", calibrateCommand},
		{"capacity", "what operations cost, and how many processes a sale takes", capacityCommand},
		{"compare", "a sale and coupons, beside how others sell and give out", compareCommand},
		{"chaos", "faults, and what became of the sale", chaosCommand},
		{"matrix", "what chaos found, as a table in Markdown", matrixCommand},
		{"mutants", "protections taken away, and whether it is noticed", mutantsCommand},
		{"soak", "a long time of sales and faults, and what grows", soakCommand},
		{"bench", "what it does in a second", benchCommand},
		{"pace", "how workers pace themselves", paceCommand},
		{"slow", "what honest clients notice of slow ones", slowCommand},
		{"audit", "of a running stack", auditCommand},
		{name: campaign.SenderCommand, do: campaign.Send},
		{name: compare.InstanceCommand, do: compare.ServeInstance},
		{name: bench.EmptyCommand, do: bench.ServeEmpty},
		{name: slowclients.ClientsCommand, do: slowclients.Clients},
	}
}

func main() { service.Main("loadtest", run) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return service.UsageErrorf("name a command: %s", names())
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		return usage(stdout)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.do(ctx, args[1:], getenv, stdout, stderr)
		}
	}
	return service.UsageErrorf("unknown command %q: name one of %s", args[0], names())
}

// names are the commands for people.
func names() string {
	var all []string
	for _, c := range commands() {
		if c.text != "" {
			all = append(all, c.name)
		}
	}
	return strings.Join(all, ", ")
}

func usage(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "Usage: loadtest COMMAND [flags]; loadtest COMMAND -help lists its flags; loadtest version says which version this is\n\n") // the Flush below reports a failure
	for _, c := range commands() {
		if c.text != "" {
			fmt.Fprintf(t, "%s\t%s\n", c.name, c.text)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print usage: %w", err)
	}
	return nil
}
