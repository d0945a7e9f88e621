package soak

import (
	"fmt"

	"sluice/loadtest/internal/report"
	"sluice/shared/jetqueue"
)

const handOffLists = "handoff lists"

// mustRead are the names of what has to be judged, whatever cannot be read.
func mustRead(gateways, workers int) (names []string) {
	of := func(process string, what ...string) {
		for _, w := range what {
			names = append(names, process+" "+w)
		}
	}
	for i := range gateways {
		of(fmt.Sprintf("gateway-%d", i), "memory", "goroutines", "descriptors", "connections", "left connections")
	}
	for i := range workers {
		of(fmt.Sprintf("worker-%d", i), "memory", "goroutines", "descriptors", "connections", "left connections")
	}
	of("redis", "memory", "descriptors", "connections")
	of("nats", "memory", "descriptors", "connections")
	of("postgres", "memory", "descriptors", "processes")
	of("Redis", "keys", "data")
	of(jetqueue.StreamName, "messages", "bytes", "consumers", "backlog", "in hand")
	of(jetqueue.PaymentsStream, "consumers", "backlog", "in hand")
	of("KV_"+jetqueue.BucketName, "messages", "bytes", "consumers")
	return append(names, handOffLists)
}

// unread are those of musts that were never read, and whatever was read too rarely to be
// judged.
func unread(musts []string, growths []report.Growth) (names []string) {
	known := make(map[string]bool)
	for _, g := range growths {
		known[g.Name] = true
		if !g.Judged && g.Kept == "" {
			names = append(names, fmt.Sprintf("%s (%d times)", g.Name, g.Readings))
		}
	}
	for _, name := range musts {
		if !known[name] {
			names = append(names, name+" (never)")
		}
	}
	return names
}
