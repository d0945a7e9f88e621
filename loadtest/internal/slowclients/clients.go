package slowclients

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"sluice/loadtest/internal/wait"
	"sluice/shared/service"
)

// ClientsCommand is the argument that makes loadtest be the slow clients.
const ClientsCommand = "slow-clients"

// How connections end, beside the statuses that they are answered.
const (
	cut    = "cut"    // closed without an answer
	failed = "failed" // never stood
	ended  = "ended"  // by the client, at the end of the run
)

const lowest = 19 // priority that Linux gives

// Tally is what slow clients saw.
type Tally struct {
	Most int            `json:"most"` // connections that stood at a time
	Ends map[string]int `json:"ends"` // connections by how they ended: a status, cut, failed or ended
}

// Cut is how many connections the gateway ended, with an answer or without.
func (t Tally) Cut() (n int) {
	for how, times := range t.Ends {
		if how != failed && how != ended {
			n += times
		}
	}
	return n
}

type tally struct {
	mu   sync.Mutex
	open int
	Tally
}

func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
	t.Most = max(t.Most, t.open)
}

func (t *tally) end(how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Ends[how]++
	if how != failed {
		t.open--
	}
}

// Clients is what the child process does: it is slow over so many connections until
// ctx ends, says on stdout when each has been tried once, and at the end what it saw.
func Clients(ctx context.Context, args []string, getenv func(string) string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet(ClientsCommand, flag.ContinueOnError)
	address := fs.String("address", "127.0.0.1:8080", "of the gateway, `host:port`")
	sale := fs.String("sale", saleID, "that they pretend to attempt")
	connections := fs.Int("connections", 10_000, "at a time")
	addresses := fs.Int("addresses", 1, "that they come from: so many of 127.1.0.0/16")
	within := fs.Duration("within", cycle, "time over which they begin")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	if *connections < 1 || *addresses < 1 || *addresses > 1<<16-2 {
		return service.UsageErrorf("-connections must be at least 1, -addresses 1 to %d", 1<<16-2)
	}
	seen := &tally{Tally: Tally{Ends: map[string]int{}}}
	// They have machines of their own elsewhere: here they take what others leave.
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest); err != nil {
		return fmt.Errorf("cannot lower the priority of slow clients: %w", err)
	}
	began := time.Now()
	var clients sync.WaitGroup
	for i := range *connections {
		n := 1 + i%*addresses
		c := client{address: *address, sale: *sale, source: net.IPv4(127, 1, byte(n>>8), byte(n)), number: i, seen: seen}
		clients.Go(func() { c.run(ctx) })
		wait.For(ctx, time.Until(began.Add(*within*time.Duration(i)/time.Duration(*connections))))
	}
	if _, err := fmt.Fprintln(stdout, "slow"); err != nil {
		return fmt.Errorf("cannot say that the slow clients are there: %w", err)
	}
	clients.Wait()
	if err := json.NewEncoder(stdout).Encode(seen.Tally); err != nil {
		return fmt.Errorf("cannot say what the slow clients saw: %w", err)
	}
	return nil
}
