package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	waitPause   = 200 * time.Millisecond
	waitRequest = 2 * time.Second
)

func runWait(ctx context.Context, in input) error {
	var gateways, sales string
	var addresses int
	var timeout time.Duration
	fs := newFlags(in, "wait", "")
	fs.StringVar(&gateways, "gateways", "", "`URLs` of the gateways' ops listeners, separated by commas")
	fs.StringVar(&sales, "sales", "", "`ids` of sales that must be ready too, separated by commas")
	fs.IntVar(&addresses, "addresses", 0, "ask every address that the hosts of -gateways have, which must be as many `gateways` at least; 0 asks one of each host")
	fs.DurationVar(&timeout, "timeout", time.Minute, "how long to wait")
	if err := service.Parse(fs, in.args, in.getenv); err != nil {
		return err
	}
	if err := checkTimeout(timeout); err != nil {
		return err
	}
	if addresses < 0 {
		return service.UsageErrorf("-addresses (%s) must not be negative, is %d", service.Variable("addresses"), addresses)
	}
	probes, err := readProbes(gateways, sales)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	hosts := addressed{least: addresses, lookUp: net.DefaultResolver.LookupHost}
	if err := awaitProbes(ctx, hosts, probes); err != nil {
		return fmt.Errorf("not ready after %v: %w", timeout, err)
	}
	_, err = fmt.Fprintf(in.stdout, "ready: %s\n", gateways)
	return err
}

// readProbes lists the URLs that must answer 200.
func readProbes(gateways, sales string) ([]*url.URL, error) {
	paths := []string{"/readyz?verbose"}
	for _, id := range splitList(sales) {
		if err := sale.ValidateID(id); err != nil {
			return nil, service.UsageErrorf("-sales (%s): %v", service.Variable("sales"), err)
		}
		paths = append(paths, "/readyz/sales/"+id)
	}
	var probes []*url.URL
	for _, base := range splitList(gateways) {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, service.UsageErrorf("-gateways (%s): %q is not a URL such as http://127.0.0.1:9080", service.Variable("gateways"), base)
		}
		for _, path := range paths {
			probe, err := url.Parse(strings.TrimRight(base, "/") + path)
			if err != nil {
				return nil, service.UsageErrorf("-gateways (%s): %v", service.Variable("gateways"), err)
			}
			probes = append(probes, probe)
		}
	}
	if len(probes) == 0 {
		return nil, missing("gateways", "name the ops listeners to wait for")
	}
	return probes, nil
}

func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// awaitProbes asks all probes until all answer 200 in the same round, or ctx
// ends: then the error says which did not, and why.
func awaitProbes(ctx context.Context, hosts addressed, probes []*url.URL) error {
	client := &http.Client{Timeout: waitRequest}
	defer client.CloseIdleConnections()
	var last error
	for {
		err := hosts.askAll(ctx, client, probes)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // a round that the deadline cut says nothing
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(waitPause):
		}
	}
}

// askAll asks every probe of a round at once.
func (a addressed) askAll(ctx context.Context, client *http.Client, probes []*url.URL) error {
	bounded, cancel := context.WithTimeout(ctx, waitRequest)
	defer cancel()
	urls, err := a.expand(bounded, probes)
	if err != nil {
		return err
	}
	return askAll(ctx, client, urls)
}

// askAll asks every probe at once; the error joins those that are not ready.
func askAll(ctx context.Context, client *http.Client, probes []string) error {
	answers := make([]chan error, len(probes))
	for i, probe := range probes {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- ask(ctx, client, probe) }()
	}
	var failed []error
	for _, answer := range answers {
		if err := <-answer; err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
