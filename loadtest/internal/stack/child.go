package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"sluice/shared/devstack"
)

// child is a gateway or a worker: a program with two ports of its own that stay its
// own while it is down.
type child struct {
	name        string // "gateway-0"
	path        string // of the program; guarded by mu
	env         []string
	firstEnv    []string // of the first run only
	settings    []string // beside env, of every run to come; guarded by mu
	logPath     string
	grace       time.Duration // from SIGTERM to SIGKILL
	public, ops *devstack.Port

	mu      sync.Mutex
	process *devstack.Process
}

// reserve gives the child its ports.
func (c *child) reserve() (err error) {
	if c.public, err = devstack.ReservePort(); err != nil {
		return err
	}
	c.ops, err = devstack.ReservePort()
	return err
}

func (c *child) url() string    { return "http://" + c.public.Addr() }
func (c *child) opsURL() string { return "http://" + c.ops.Addr() }

func (c *child) current() *devstack.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process
}

// PID of the process as last started.
func (c *child) PID() int { return c.current().PID() }

// Exited is closed when the process as last started has ended.
func (c *child) Exited() <-chan struct{} { return c.current().Exited() }

// Kill ends the process with SIGKILL and reaps it.
func (c *child) Kill() error { return c.current().Kill() }

// Restart starts the process, without waiting until it is ready.
func (c *child) Restart(context.Context) error {
	if c.current() == nil {
		return c.restartWith(c.firstEnv)
	}
	return c.restartWith(nil)
}

// restartWith is Restart with extra environment for this run only.
func (c *child) restartWith(env []string) error {
	logFile, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot open the log of %s: %w", c.name, err)
	}
	defer logFile.Close() // the child has its own descriptor
	c.mu.Lock()
	defer c.mu.Unlock()
	cmd := exec.Command(c.path)
	cmd.Env = append(slices.Clone(c.env), "SLUICE_LISTEN="+c.public.Addr(), "SLUICE_OPS_LISTEN="+c.ops.Addr())
	cmd.Env = append(append(cmd.Env, c.settings...), env...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	c.process = process
	return nil
}

// set makes settings, such as "SLUICE_CONSUMERS=2", those of every run to come.
func (c *child) set(settings []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings = settings
}

func (c *child) program() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.path
}

// setProgram makes a program that of every run to come.
func (c *child) setProgram(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = path
}

// close stops the process, if there was one, and frees its ports.
func (c *child) close() error {
	var errs []error
	if process := c.current(); process != nil {
		errs = append(errs, process.Stop(syscall.SIGTERM, c.grace))
	}
	for _, port := range []*devstack.Port{c.public, c.ops} {
		if port != nil {
			errs = append(errs, port.Release())
		}
	}
	return errors.Join(errs...)
}

// ready asks the process itself.
func (c *child) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.opsURL()+"/readyz?verbose", nil)
	if err != nil {
		return fmt.Errorf("cannot ask whether %s is ready: %w", c.name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("cannot ask whether %s is ready: %w", c.name, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", c.name, response.Status)
	}
	return nil
}
