package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/loadtest/internal/stack"
)

// quantity is something that is in use.
type quantity struct {
	name         string
	unit         string
	counted      bool    // in pieces that are given back, as connections are: it may grow by less of what it is
	comesAndGoes float64 // growth by so much is none
	kept         string  // why it grows with what is sold, and is not judged; "" if it must not
}

// What comes and goes, of each kind of quantity. In half an hour with a fault a minute,
// connections and descriptors of a process grew by 9.7 at most, goroutines by 9.3, memory by
// 15 MiB; in five minutes, files of Postgres by 212: pools fill again after a process was
// started anew. Queues grew by none.
const (
	fewMB         = 24  // of a process: the garbage of Go, and buffers that are kept
	fewStoredMB   = 4   // of a store
	fewGoroutines = 20  // a connection has some, and buyers' come and go
	fewOpen       = 15  // connections, or descriptors
	fewLeft       = 5   // connections that the client has closed, and the server not yet
	fewFiles      = 450 // of all processes of Postgres, of which each has some 45
	fewConsumers  = 3   // of a sale that is not retired yet
	fewWaiting    = 50  // in a queue, which is empty most of the time
	fewMessages   = 200
	fewKeys       = 30 // of a sale more
)

// watch keeps what was read.
type watch struct {
	stores     storeReader
	quantities []quantity // in the order in which they were first read
	readings   map[string][]reading
	missed     map[string]int // readings that failed, by what was asked
}

func openWatch(info stack.Info) (*watch, error) {
	stores, err := openStoreReader(info)
	if err != nil {
		return nil, err
	}
	return &watch{stores: stores, readings: make(map[string][]reading), missed: make(map[string]int)}, nil
}

func (w *watch) close() { w.stores.close() }

// look reads everything once. What cannot be read now, because it is down, is missed.
func (w *watch) look(ctx context.Context, info stack.Info, at time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	note := func(q quantity, value float64) {
		if _, known := w.readings[q.name]; !known {
			w.quantities = append(w.quantities, q)
		}
		w.readings[q.name] = append(w.readings[q.name], reading{at, value})
	}
	for _, of := range []struct {
		what string
		read func(context.Context, noted) error
	}{
		{"processes", func(ctx context.Context, note noted) error { return lookAtProcesses(ctx, info, note) }},
		{"Redis", w.stores.redisNow}, {"NATS", w.stores.natsNow}, {"Postgres", w.stores.postgresNow}, {"handoff lists", w.stores.handOffNow},
	} {
		if err := of.read(ctx, note); err != nil {
			w.missed[of.what]++
		}
	}
}

// lookWithin bounds a look: a store that does not answer is missed, and the next look is on time.
const lookWithin = 3 * time.Second

// noted takes a value in.
type noted func(q quantity, value float64)

func lookAtProcesses(ctx context.Context, info stack.Info, note noted) error {
	var errs []error
	for i, g := range info.Gateways {
		errs = append(errs, ofProgram(ctx, fmt.Sprintf("gateway-%d", i), g.PID, g.URL, g.OpsURL, note))
	}
	for i, w := range info.Workers {
		errs = append(errs, ofProgram(ctx, fmt.Sprintf("worker-%d", i), w.PID, w.URL, w.AdminURL, note))
	}
	errs = append(errs, ofProcess("redis", info.Redis.PID, 0, note), ofProcess("nats", info.NATS.PID, 0, note), ofPostgres(info.Postgres.PID, note))
	return errors.Join(errs...)
}
