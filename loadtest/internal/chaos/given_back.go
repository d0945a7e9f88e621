package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// givenBack are the hand-overs that workers give back, as they tell JetStream of it.
type givenBack struct {
	mu      sync.Mutex
	times   int
	soonest time.Duration // after which one is wanted again
}

// watchGivenBack listens to what workers tell JetStream, until hangUp.
func (r *Round) watchGivenBack() (g *givenBack, hangUp func(), err error) {
	connection, err := nats.Connect(r.stack.Info().NATS.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to nats: %w", err)
	}
	g = &givenBack{}
	if _, err = connection.Subscribe("$JS.ACK."+streamName+".>", g.hear); err == nil {
		err = connection.FlushTimeout(callWithin) // it listens by then
	}
	if err != nil {
		connection.Close()
		return nil, nil, fmt.Errorf("cannot listen to acknowledgements: %w", err)
	}
	return g, connection.Close, nil
}

// hear counts a message that gives one back: -NAK, and the delay if there is one.
func (g *givenBack) hear(m *nats.Msg) {
	rest, nak := bytes.CutPrefix(m.Data, []byte("-NAK"))
	if !nak {
		return
	}
	var asked struct {
		Delay time.Duration `json:"delay"` // ns
	}
	_ = json.Unmarshal(rest, &asked) // nothing: at once
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.times++; g.times == 1 || asked.Delay < g.soonest {
		g.soonest = asked.Delay
	}
}

// end returns how many were given back so far, and how soon the first of them is wanted again.
func (g *givenBack) end() (times int, soonest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.times, g.soonest
}
