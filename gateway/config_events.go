package main

import (
	"flag"
	"time"

	"sluice/shared/service"
)

// events configures the streams of ticket events.
type events struct {
	alive time.Duration
}

func (e *events) register(fs *flag.FlagSet) {
	fs.DurationVar(&e.alive, "events-alive", 15*time.Second, "time after which a quiet stream of ticket events sends a sign of life; below what proxies in front wait for")
}

const leastAlive = 10 * time.Millisecond

func (e *events) check() error {
	if e.alive < leastAlive {
		return service.UsageErrorf("-events-alive (SLUICE_EVENTS_ALIVE) must be at least %v, is %v", leastAlive, e.alive)
	}
	return nil
}
