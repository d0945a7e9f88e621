package compare

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/service"
)

// InstanceCommand is the argument that makes loadtest serve an instance of a baseline.
const InstanceCommand = "compare-instance"

const (
	instanceStart = 30 * time.Second // generous, for a busy machine
	instanceGrace = 15 * time.Second // to stop
)

// backends are the stores that an instance works on.
type backends struct{ postgres, redis, nats string }

// ServeInstance is what the child process does: it sells until ctx ends, and says on
// stdout where.
func ServeInstance(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	var (
		stores backends
		tokens service.TokenFlags
		fs     = flag.NewFlagSet(InstanceCommand, flag.ContinueOnError)
	)
	system := fs.String("system", "", "`name` of the baseline")
	fs.StringVar(&stores.postgres, "postgres-url", "", "Postgres `url`")
	fs.StringVar(&stores.redis, "redis-url", "", "Redis `url`")
	fs.StringVar(&stores.nats, "nats-url", "", "NATS `url`")
	tokens.Register(fs)
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if err := tokens.Check(); err != nil {
		return err
	}
	open, ok := deciders[*system]
	if !ok {
		return service.UsageErrorf("-system (%s) names no baseline: %q", service.Variable("system"), *system)
	}
	believed, err := tokens.Open(slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	d, err := open(ctx, stores)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.close()
		return fmt.Errorf("cannot listen: %w", err)
	}
	i := startInstance(listener, d, believed.Verifier)
	_, err = fmt.Fprintln(stdout, listener.Addr())
	if err == nil {
		<-ctx.Done()
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), instanceGrace)
	defer cancel()
	return errors.Join(err, i.stop(bounded))
}

// instanceProcess is the child process.
type instanceProcess struct {
	*devstack.Process
	url string
}

// startProcess starts an instance of a system. It has no other settings than these.
func startProcess(site Site, system string) (*instanceProcess, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start instance of %s: %w", system, err)
	}
	defer reader.Close()
	cmd := exec.Command(site.Program, InstanceCommand, "-system", system)
	cmd.Stdout, cmd.Stderr, cmd.Env = writer, os.Stderr, instanceEnv(site.Stack)
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	writer.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	if err = reader.SetReadDeadline(time.Now().Add(instanceStart)); err == nil {
		var address string
		if address, err = bufio.NewReader(reader).ReadString('\n'); err == nil {
			return &instanceProcess{process, "http://" + strings.TrimSpace(address)}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("cannot start instance of %s: %w", system, err), process.Kill())
}

func instanceEnv(s stack.Info) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"SLUICE_POSTGRES_URL=" + s.Postgres.URL, "SLUICE_REDIS_URL=" + s.Redis.URL, "SLUICE_NATS_URL=" + s.NATS.URL,
		"SLUICE_JWT_HS256=" + s.Secrets.JWTHS256, "SLUICE_JWT_ISSUER=" + s.Secrets.JWTIssuer, "SLUICE_JWT_AUDIENCE=" + s.Secrets.JWTAudience,
	}
}
