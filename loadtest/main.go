// Command loadtest runs Sluice on one machine, attacks it, and audits what became
// of every attempt.
package main

import (
	"context"
	"io"

	"sluice/loadtest/internal/bench"
	"sluice/loadtest/internal/slowclients"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// command is one thing that loadtest does.
type command func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error

func main() { service.Main("loadtest", run) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	const names = "up (a stack in the foreground), demo (one whole flash sale, judged), audit (of a running stack), bench (what it does in a second), pace (how workers pace themselves) or slow (what honest clients notice of slow ones); loadtest COMMAND -help lists its flags"
	commands := map[string]command{"up": stack.Up, "demo": demoCommand, "audit": auditCommand, "bench": benchCommand, "pace": paceCommand, "slow": slowCommand, slowclients.ClientsCommand: slowclients.Clients,
		bench.EmptyCommand: bench.ServeEmpty, // the child process of bench
	}
	if len(args) == 0 {
		return service.UsageErrorf("name a command: %s", names)
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		_, err := io.WriteString(stdout, "Usage: loadtest COMMAND [flags]\n\nCommands: "+names+"\n")
		return err
	}
	do, ok := commands[args[0]]
	if !ok {
		return service.UsageErrorf("unknown command %q: name one of %s", args[0], names)
	}
	return do(ctx, args[1:], getenv, stdout, stderr)
}
