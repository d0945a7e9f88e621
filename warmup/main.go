// Command warmup writes the schema and the catalogue, and gets sales and
// gateways ready before a sale opens. Each command may be repeated: it finishes
// what an earlier run left undone and leaves alone what is there.
package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"sluice/shared/service"
)

func main() { service.Main("warmup", run) }

// input is what a command is given.
type input struct {
	args           []string
	getenv         func(string) string
	stdout, stderr io.Writer
}

type command struct {
	name, operands, summary string
	run                     func(ctx context.Context, in input) error
}

func commands() []command {
	return []command{
		{"migrate", "", "create or update the schema, the stream and the catalogue's bucket", runMigrate},
		{"apply", "FILE", "write the sales of FILE to Postgres, load them into Redis, announce them", runApply},
		{"load", "[SALE...]", "load sales whose state is missing in Redis, by default all", runLoad},
		{"rebuild", "SALE...", "have workers make the Redis state of sales anew, and wait until they sell again", runRebuild},
		{"verify", "[SALE...]", "compare Postgres, Redis and the catalogue; exit 1 when they differ", runVerify},
		{"wait", "", "wait until gateways are ready, for given sales too", runWait},
		{"doctor", "", "print which promise the stores' settings keep, and what the next one lacks", runDoctor},
		{"retire", "SALE...", "take sales that are over out of the stores, or say why that cannot be yet", runRetire},
		{"merchant-key", "ACTION [ID]", "make an API key for a merchant, show all, end one", runMerchantKey},
		{"token", "", "print a buyer's token for trying things", runToken},
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return service.UsageErrorf("name a command: %s", commandNames())
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		return writeUsage(stdout)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, input{args[1:], getenv, stdout, stderr})
		}
	}
	return service.UsageErrorf("unknown command %q: commands are %s", args[0], commandNames())
}

func commandNames() string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func writeUsage(w io.Writer) error {
	var text strings.Builder
	text.WriteString("Usage: warmup COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&text, "  %-24s %s\n", c.name+" "+c.operands, c.summary)
	}
	text.WriteString("\nwarmup COMMAND -h lists a command's flags; warmup version says which version this is.\n")
	_, err := io.WriteString(w, text.String())
	return err
}
