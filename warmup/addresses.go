package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// addressed are hosts whose addresses are gateways each, as those of a headless service
// are: the name has one more when a gateway starts, ready or not.
type addressed struct {
	least  int // gateways; 0 takes a host as one
	lookUp func(ctx context.Context, host string) ([]string, error)
}

// expand makes one URL a gateway of each probe, and refuses when there are too few. It is
// asked anew every round.
func (a addressed) expand(ctx context.Context, probes []*url.URL) ([]string, error) {
	var all []string
	gateways := map[string]bool{}
	for _, probe := range probes {
		hosts, err := a.hosts(ctx, probe)
		if err != nil {
			return nil, err
		}
		for _, host := range hosts {
			one := *probe
			one.Host = host
			gateways[host] = true
			all = append(all, one.String())
		}
	}
	if len(gateways) < a.least {
		return nil, fmt.Errorf("only %d of the %d gateways of -addresses are there", len(gateways), a.least)
	}
	return all, nil
}

// hosts are where the gateways of a probe's host are.
func (a addressed) hosts(ctx context.Context, probe *url.URL) ([]string, error) {
	if a.least == 0 {
		return []string{probe.Host}, nil
	}
	addresses, err := a.lookUp(ctx, probe.Hostname())
	if err != nil {
		return nil, fmt.Errorf("cannot find the addresses of the gateways at %s: %w", probe.Hostname(), err)
	}
	slices.Sort(addresses)
	hosts := make([]string, len(addresses))
	for i, address := range addresses {
		switch port := probe.Port(); {
		case port != "":
			hosts[i] = net.JoinHostPort(address, port)
		case strings.Contains(address, ":"): // IPv6, which a URL has in brackets
			hosts[i] = "[" + address + "]"
		default:
			hosts[i] = address
		}
	}
	return hosts, nil
}
