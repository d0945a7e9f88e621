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

// clients are the child process that is slow.
type clients struct {
	process *devstack.Process
	pipe    *os.File
	out     *bufio.Reader
}

// startClients returns once every client has begun, which they do over a time.
func startClients(program, address string, connections, addresses int, within time.Duration) (*clients, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start slow clients: %w", err)
	}
	cmd := exec.Command(program, ClientsCommand, "-address", address, "-connections", strconv.Itoa(connections), "-addresses", strconv.Itoa(addresses), "-within", within.String())
	cmd.Stdout, cmd.Stderr = writer, os.Stderr
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	writer.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	c := &clients{process: process, pipe: reader, out: bufio.NewReader(reader)}
	if err := c.await("slow\n", startWithin); err != nil {
		return nil, errors.Join(err, process.Kill(), reader.Close())
	}
	return c, nil
}

func (c *clients) await(line string, within time.Duration) error {
	if err := c.pipe.SetReadDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("cannot hear of slow clients: %w", err)
	}
	if got, err := c.out.ReadString('\n'); err != nil || got != line {
		return fmt.Errorf("cannot start slow clients: they say %q: %w", got, err)
	}
	return nil
}

// stop ends the clients and returns what they saw.
func (c *clients) stop() (seen Tally, err error) {
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
