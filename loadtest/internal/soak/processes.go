package soak

import (
	"context"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/usage"
)

// ofProgram reads a gateway or a worker.
func ofProgram(ctx context.Context, name string, pid int, opsURL string, note noted) error {
	if err := ofProcess(name, pid, note); err != nil {
		return err
	}
	n, err := collect.Goroutines(ctx, opsURL)
	if err != nil {
		return err
	}
	note(quantity{name: name + " goroutines", counted: true, comesAndGoes: fewGoroutines}, n)
	return nil
}

func ofProcess(name string, pid int, note noted) error {
	mb, err := usage.ResidentMB(pid)
	if err != nil {
		return err
	}
	note(quantity{name: name + " memory", unit: "MiB", comesAndGoes: fewMB}, mb)
	descriptors, sockets, err := usage.Open(pid)
	if err != nil {
		return err
	}
	note(quantity{name: name + " descriptors", counted: true, comesAndGoes: fewOpen}, float64(descriptors))
	note(quantity{name: name + " connections", counted: true, comesAndGoes: fewOpen}, float64(sockets))
	return nil
}

// ofPostgres reads a server whose connections are processes. What they share is as large as
// it was told to be.
func ofPostgres(pid int, note noted) error {
	children, err := usage.Children(pid)
	if err != nil {
		return err
	}
	whole, err := usage.OwnMB(pid)
	if err != nil {
		return err
	}
	descriptors, _, err := usage.Open(pid)
	if err != nil {
		return err
	}
	for _, child := range children {
		mb, err := usage.OwnMB(child)
		if err != nil {
			continue // it has ended meanwhile
		}
		n, _, err := usage.Open(child)
		if err != nil {
			continue
		}
		whole, descriptors = whole+mb, descriptors+n
	}
	note(quantity{name: "postgres memory", unit: "MiB", comesAndGoes: 2 * fewMB}, whole)
	note(quantity{name: "postgres descriptors", counted: true, comesAndGoes: fewFiles}, float64(descriptors)) // every process has files of its own open
	note(quantity{name: "postgres processes", counted: true, comesAndGoes: fewOpen}, float64(len(children)))
	return nil
}
