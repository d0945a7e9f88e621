package attack

import (
	"fmt"
	"sync"
	"time"
)

// lateAfter is how far behind its due time an attempt is sent to count as late.
const lateAfter = 10 * time.Millisecond

// Lateness says whether the attack kept its schedule, and if not, why.
type Lateness struct {
	Attempts    int           `json:"attempts"`
	Tool        int           `json:"tool"`        // late though a sender was waiting: the tool, or the machine, was the limit
	Connections int           `json:"connections"` // late because every sender waited for an answer, which on a full machine the tool may have been slow to read
	Worst       time.Duration `json:"worst_ns"`
}

// String says in words what the limit was.
func (l Lateness) String() string {
	switch {
	case l.Kept():
		return fmt.Sprintf("the schedule was kept (%d of %d attempts late, at worst %s)", l.Tool+l.Connections, l.Attempts, l.Worst.Round(time.Millisecond))
	case l.Tool >= l.Connections:
		return fmt.Sprintf("the tool was the limit: %d of %d attempts sent late, at worst %s", l.Tool, l.Attempts, l.Worst.Round(time.Millisecond))
	default:
		return fmt.Sprintf("the connections were the limit: %d of %d attempts waited for one, at worst %s", l.Connections, l.Attempts, l.Worst.Round(time.Millisecond))
	}
}

// Plus adds up what two senders found.
func (l Lateness) Plus(m Lateness) Lateness {
	return Lateness{Attempts: l.Attempts + m.Attempts, Tool: l.Tool + m.Tool, Connections: l.Connections + m.Connections, Worst: max(l.Worst, m.Worst)}
}

// Kept says that at most one attempt in a hundred was late for either reason.
func (l Lateness) Kept() bool { return l.Tool*100 <= l.Attempts && l.Connections*100 <= l.Attempts }

// latenessCount gathers a Lateness from many senders.
type latenessCount struct {
	mu sync.Mutex
	l  Lateness
}

func (c *latenessCount) add(one Lateness) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.l = c.l.Plus(one)
}

// latenessOf is that of an attempt that left late by behind; waited says that its sender
// was ready before it was due.
func latenessOf(behind time.Duration, waited bool) Lateness {
	one := Lateness{Attempts: 1, Worst: max(0, behind)}
	switch {
	case behind < lateAfter:
	case waited:
		one.Tool = 1
	default:
		one.Connections = 1
	}
	return one
}
