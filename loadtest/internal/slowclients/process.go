package slowclients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"sluice/shared/devstack"
)

const (
	startWithin = time.Minute // of the slow clients, on a busy machine
	grace       = 15 * time.Second
)

// Attack is what slow clients do.
type Attack struct {
	Address     string        // of the gateway, host:port
	Sale        string        // that they pretend to attempt
	Connections int           // at a time
	Addresses   int           // that they come from
	Within      time.Duration // time over which they begin
}

// Running are slow clients: a child process, which ends with this one.
type Running struct {
	process *devstack.Process
	pipe    *os.File
	out     *bufio.Reader
}

// Start starts the slow clients that program is when told ClientsCommand, and returns once
// every one has begun.
func Start(program string, a Attack) (*Running, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start slow clients: %w", err)
	}
	cmd := exec.Command(program, ClientsCommand, "-address", a.Address, "-sale", a.Sale, "-connections", strconv.Itoa(a.Connections),
		"-addresses", strconv.Itoa(a.Addresses), "-within", a.Within.String())
	cmd.Stdout, cmd.Stderr = writer, os.Stderr
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	writer.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	c := &Running{process: process, pipe: reader, out: bufio.NewReader(reader)}
	if err := c.await("slow\n", startWithin); err != nil {
		return nil, errors.Join(err, process.Kill(), reader.Close())
	}
	return c, nil
}

func (c *Running) await(line string, within time.Duration) error {
	if err := c.pipe.SetReadDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("cannot hear of slow clients: %w", err)
	}
	if got, err := c.out.ReadString('\n'); err != nil || got != line {
		return fmt.Errorf("cannot start slow clients: they say %q: %w", got, err)
	}
	return nil
}

// Stop ends the clients and returns what they saw.
func (c *Running) Stop() (seen Tally, err error) {
	defer c.pipe.Close() // it was only read
	if err := c.process.Stop(syscall.SIGTERM, grace); err != nil {
		return seen, err
	}
	if err := c.pipe.SetReadDeadline(time.Now().Add(grace)); err != nil {
		return seen, fmt.Errorf("cannot hear of slow clients: %w", err)
	}
	if err := json.NewDecoder(c.out).Decode(&seen); err != nil {
		return seen, fmt.Errorf("cannot read what slow clients saw: %w", err)
	}
	return seen, nil
}
