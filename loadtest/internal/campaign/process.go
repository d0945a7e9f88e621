package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"sluice/shared/devstack"
)

// readyWithin bounds the start of a sender, on a busy machine.
const readyWithin = time.Minute

// process is a sender as the campaign sees it.
type process struct {
	name   string
	orders io.WriteCloser
	says   *json.Decoder
	pid    int
	close  func() string // ends it, if it has not ended, and says how it did

	stopped sync.Once
	sentAll bool
	last    progress // heard
	result  *result  // nil until it reported
	died    string   // how, when it did not
}

// startProcess starts a sender of its own process, out of the terminal's reach.
func startProcess(program, name string) (*process, error) {
	in, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start a sender: %w", err)
	}
	says, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start a sender: %w", err), in.Close(), orders.Close())
	}
	cmd := exec.Command(program, SenderCommand)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
	child, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	_, _ = in.Close(), out.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, orders.Close(), says.Close())
	}
	return &process{name: name, orders: orders, says: json.NewDecoder(says), pid: child.PID(), close: sync.OnceValue(func() string {
		defer says.Close() // it was only read
		if err := child.Stop(syscall.SIGTERM, time.Second); err != nil {
			return err.Error()
		}
		return child.Status()
	})}, nil
}

// tell writes one of the sender's orders.
func (p *process) tell(order any) error {
	if err := json.NewEncoder(p.orders).Encode(order); err != nil {
		return fmt.Errorf("cannot tell %s what to do: %w", p.name, err)
	}
	return nil
}

// stop ends the sending: what is under way is answered still, and reported.
func (p *process) stop() {
	p.stopped.Do(func() { _ = p.orders.Close() }) // one that has ended needs no telling
}

// awaitReady gives the sender its plan.
func (p *process) awaitReady(plan plan) error {
	overdue := time.AfterFunc(readyWithin, func() { p.close() })
	defer overdue.Stop()
	if err := p.tell(plan); err != nil {
		return err
	}
	var m message
	if err := p.says.Decode(&m); err != nil {
		return fmt.Errorf("%s did not get ready: %w", p.name, err)
	}
	if !m.Ready {
		return fmt.Errorf("%s did not get ready, but said something else", p.name)
	}
	return nil
}

// listen hears the sender to its end: a message that is none is that end, without a
// result.
func (p *process) listen(heard func(m message)) {
	for {
		var m message
		err := p.says.Decode(&m)
		heard(m)
		if err != nil || m.Result != nil {
			return
		}
	}
}
