package soak

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/usage"
)

// ofProgram reads a gateway or a worker that serves clients at a URL. What it has for them, a
// connection with its descriptor and its goroutine each, is as much as the load's clients
// choose to keep, who open more when answers are slow. Those are left out of what it has; none
// may stay whose client has gone.
func ofProgram(ctx context.Context, name string, pid int, servesURL, opsURL string, note noted) error {
	clients, left, err := clientsOf(servesURL)
	if err != nil {
		return err
	}
	if err := ofProcess(name, pid, clients, note); err != nil {
		return err
	}
	n, err := collect.Goroutines(ctx, opsURL)
	if err != nil {
		return err
	}
	note(quantity{name: name + " goroutines", counted: true, comesAndGoes: fewGoroutines}, n-float64(clients))
	note(quantity{name: name + " left connections", counted: true, comesAndGoes: fewLeft}, float64(left))
	return nil
}

// clientsOf is how many connections are open to who serves at a URL of this machine, and how
// many clients of those have gone.
func clientsOf(servesURL string) (clients, left int, err error) {
	at, err := url.Parse(servesURL)
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read the URL of a program: %w", err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read the port of %s: %w", servesURL, err)
	}
	return usage.Accepted(port)
}

// ofProcess reads a process, without so many clients that it serves.
func ofProcess(name string, pid, clients int, note noted) error {
	mb, err := usage.ResidentMB(pid)
	if err != nil {
		return err
	}
	note(quantity{name: name + " memory", unit: "MiB", comesAndGoes: fewMB}, mb)
	descriptors, sockets, err := usage.Open(pid)
	if err != nil {
		return err
	}
	note(quantity{name: name + " descriptors", counted: true, comesAndGoes: fewOpen}, float64(descriptors-clients))
	note(quantity{name: name + " connections", counted: true, comesAndGoes: fewOpen}, float64(sockets-clients))
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
