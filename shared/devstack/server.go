package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// How long a server may take to answer, to stop when asked, and one probe.
// Generous: a loaded machine is no reason to fail.
const (
	startTimeout = 60 * time.Second
	stopGrace    = 8 * time.Second
	probeTimeout = 2 * time.Second
	probeEvery   = 20 * time.Millisecond
)

// program is what differs between the three servers.
type program struct {
	name    string
	url     string
	data    string                    // directory of its data, the log apart
	command func() (*exec.Cmd, error) // a new one for every start
	stop    syscall.Signal            // graceful stop
	death   syscall.Signal            // sent by the kernel when this process dies
	probe   func(ctx context.Context, addr string) error
}

// Server is one real server on loopback. Its port and data survive Kill, Stop and
// Restart; Close removes them. Methods are safe for concurrent use, but Restart
// must not run twice at once or beside Close.
type Server struct {
	program
	port *Port
	also []*Port // that it listens on beside port
	dir  string
	temp *tempDir // that holds dir; nil when the caller chose where
	log  *slog.Logger

	mu      sync.Mutex
	process *Process
}

// URL returns what clients connect to; it stays the same across restarts.
func (s *Server) URL() string { return s.url }

// Dir returns the directory of the server's data and log.
func (s *Server) Dir() string { return s.dir }

// PID returns the process id of the server as last started.
func (s *Server) PID() int { return s.current().PID() }

// Exited is closed when the server as last started has ended.
func (s *Server) Exited() <-chan struct{} { return s.current().Exited() }

// Kill ends the server with SIGKILL and reaps it.
func (s *Server) Kill() error { return s.current().Kill() }

// Stop ends the server gracefully; it is killed if that takes too long.
func (s *Server) Stop() error { return s.current().Stop(s.stop, stopGrace) }

// Restart starts an ended server again, on the same port and data. What the dead
// process leaves behind (a Postgres backend, a port) may refuse a first try, so it
// tries until ctx ends, at most a minute.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.mustHaveEnded("restart"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.start(ctx)
		if err == nil {
			return nil
		}
		s.log.WarnContext(ctx, "server start failed, trying again", "server", s.name, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// Close ends the server, frees its port and removes its directory. The server is not
// let write down what is removed: the last checkpoint of a Postgres may take many seconds.
func (s *Server) Close() error {
	return errors.Join(s.current().Stop(s.death, stopGrace), s.discard())
}

// discard is Close for a server that has ended. The backends of a killed Postgres
// may write for a moment longer, so the directory is removed until it stays gone.
func (s *Server) discard() error {
	var errs []error
	if s.dir != "" {
		errs = append(errs, removeUntilGone(s.dir))
	}
	if s.temp != nil {
		errs = append(errs, s.temp.remove())
	}
	for _, port := range append(s.also, s.port) {
		errs = append(errs, port.Release())
	}
	return errors.Join(errs...)
}

func removeUntilGone(dir string) error {
	err := os.RemoveAll(dir)
	for range 50 {
		if err == nil {
			break
		}
		time.Sleep(probeEvery)
		err = os.RemoveAll(dir)
	}
	return err
}

func (s *Server) current() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// start runs the program and returns once it answers.
func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	process, err := s.spawn()
	if err != nil {
		return err
	}
	if err := s.await(ctx, process); err != nil {
		return errors.Join(err, process.Kill())
	}
	s.log.DebugContext(ctx, "server started", "server", s.name, "addr", s.port.Addr(), "pid", process.PID())
	return nil
}

func (s *Server) spawn() (*Process, error) {
	cmd, err := s.command()
	if err != nil {
		return nil, err
	}
	logFile, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %s: %w", s.name, err)
	}
	defer logFile.Close() // the child has its own descriptor
	cmd.Stdout, cmd.Stderr = logFile, logFile
	process, err := StartProcess(cmd, s.death)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = process
	return process, nil
}

// await probes until the server answers, ends, or ctx does.
func (s *Server) await(ctx context.Context, process *Process) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		err := s.probeOnce(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-process.Exited():
			return fmt.Errorf("%s ended while starting (%s); the end of its log:\n%s", s.name, process.Status(), tail(s.logPath()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer on %s: %w; the end of its log:\n%s", s.name, s.port.Addr(), errors.Join(ctx.Err(), err), tail(s.logPath()))
		}
	}
}

func (s *Server) probeOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return s.probe(ctx, s.port.Addr())
}

func (s *Server) logPath() string { return filepath.Join(s.dir, s.name+".log") }

// tail returns the last 2 KiB of a log.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-2048):])
}
