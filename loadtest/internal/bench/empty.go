package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/devstack"
)

// EmptyCommand is the argument that makes loadtest serve an empty handler.
const EmptyCommand = "bench-empty"

const (
	emptyStart = 30 * time.Second // generous, for a busy machine
	emptyGrace = 5 * time.Second  // to stop
)

// ServeEmpty is what the child process does: it answers every request with
// nothing, until ctx ends, and says on stdout where. The settings are those of the
// gateway's server.
func ServeEmpty(ctx context.Context, _ []string, _ func(string) string, stdout, _ io.Writer) error {
	const limit = 8 << 10 // bytes
	server := &fasthttp.Server{
		Handler: func(*fasthttp.RequestCtx) {}, Name: "sluice",
		ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 60 * time.Second,
		MaxRequestBodySize: limit, ReadBufferSize: limit, Concurrency: 20000,
		NoDefaultServerHeader: true, NoDefaultDate: true, CloseOnShutdown: true,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(stdout, listener.Addr()); err != nil {
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
	process *devstack.Process
	url     string
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
		var address string
		if address, err = bufio.NewReader(reader).ReadString('\n'); err == nil {
			return &emptyServer{process: process, url: "http://" + strings.TrimSpace(address)}, nil
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

func (b *bench) emptyLoad(connections int) load {
	return load{
		url: b.server.url, connections: connections, request: b.buyers.attempts(soldOutSale), want: http.StatusOK,
		servers: []int{b.server.process.PID()},
	}
}
