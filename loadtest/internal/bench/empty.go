package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/loadtest/internal/loop"
	"sluice/shared/devstack"
	"sluice/shared/service"
)

// EmptyCommand is the argument that makes loadtest serve an empty handler.
const EmptyCommand = "bench-empty"

const (
	emptyStart = 30 * time.Second // generous, for a busy machine
	emptyGrace = 5 * time.Second  // to stop
)

// ServeEmpty is what the child process does: it answers every request with
// nothing, until ctx ends, and says on stdout where, and where its metrics are.
func ServeEmpty(ctx context.Context, _ []string, _ func(string) string, stdout, _ io.Writer) error {
	server := loop.NewServer(func(*fasthttp.RequestCtx) {})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	ops, err := service.NewOps("127.0.0.1:0", service.NewHealth(time.Now), service.NewRegistry())
	if err != nil {
		return err
	}
	served := make(chan error, 2)
	defer ops.Start(func(err error) { served <- err })()
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(stdout, listener.Addr(), ops.Addr()); err != nil {
		return fmt.Errorf("cannot say where the empty handler is: %w", err)
	}
	select {
	case err := <-served:
		return fmt.Errorf("cannot serve: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), emptyGrace)
	defer cancel()
	return errors.Join(server.ShutdownWithContext(bounded), <-served)
}

// emptyServer is the child process.
type emptyServer struct {
	process     *devstack.Process
	url, opsURL string
}

func startEmpty(program string) (*emptyServer, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start empty handler: %w", err)
	}
	defer reader.Close()
	cmd := exec.Command(program, EmptyCommand)
	cmd.Stdout, cmd.Stderr = writer, os.Stderr
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	writer.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	if err = reader.SetReadDeadline(time.Now().Add(emptyStart)); err == nil {
		var address, ops string
		if _, err = fmt.Fscanln(reader, &address, &ops); err == nil {
			return &emptyServer{process: process, url: "http://" + address, opsURL: "http://" + ops}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("cannot start empty handler: %w", err), process.Kill())
}

func (s *emptyServer) stop() error { return s.process.Stop(syscall.SIGTERM, emptyGrace) }

// empty measures what fasthttp and this client can do here at best, with the same
// requests that a gateway gets.
func (b *bench) empty(w width) scenario {
	return func(ctx context.Context, _ int, f figures) error {
		_, err := b.measure(ctx, emptyName(w), f, b.emptyLoad(w.connections))
		return err
	}
}

func emptyName(w width) string { return "empty" + w.name }

func (b *bench) emptyLoad(connections int) loop.Load {
	return loop.Load{
		URL: b.server.url, Connections: connections, Request: b.buyers.Attempts(soldOutSale), Want: http.StatusOK,
		Servers: []int{b.server.process.PID()},
	}
}
