package main

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestWait_AsksEveryAddressOfAName(t *testing.T) {
	t.Parallel()
	probe := &url.URL{Scheme: "http", Host: "gateways:9080", Path: "/readyz", RawQuery: "verbose"}
	withoutPort := &url.URL{Scheme: "http", Host: "gateways", Path: "/readyz"}
	found := []string{"10.0.0.2", "fd00::3"}
	hosts := addressed{least: 2, lookUp: func(_ context.Context, host string) ([]string, error) {
		if host != "gateways" {
			t.Errorf("looks up %q", host)
		}
		return slices.Clone(found), nil
	}}
	for _, c := range []struct {
		probe *url.URL
		want  []string
	}{
		{probe, []string{"http://10.0.0.2:9080/readyz?verbose", "http://[fd00::3]:9080/readyz?verbose"}},
		{withoutPort, []string{"http://10.0.0.2/readyz", "http://[fd00::3]/readyz"}},
	} {
		if got, err := hosts.expand(t.Context(), []*url.URL{c.probe}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s asks %v, %v, want %v", c.probe, got, err, c.want)
		}
	}
	hosts.least = 3
	if _, err := hosts.expand(t.Context(), []*url.URL{probe}); err == nil || !strings.Contains(err.Error(), "only 2 of the 3 gateways") {
		t.Errorf("too few: %v", err)
	}
	unknown := errors.New("no such host")
	hosts.lookUp = func(context.Context, string) ([]string, error) { return nil, unknown }
	if _, err := hosts.expand(t.Context(), []*url.URL{probe}); !errors.Is(err, unknown) {
		t.Errorf("a name that is unknown: %v", err)
	}
}

// Two names of one gateway are one address: they are no two gateways.
func TestWait_CountsAddressesNotNames(t *testing.T) {
	t.Parallel()
	b := &bench{t: t}
	one, _, warm := startGateway(t, onlyPhone)
	warm.Done()
	if _, err := b.try("wait", "-gateways", one, "-addresses", "1", "-sales", "phone", "-timeout", "30s"); err != nil {
		t.Error(err)
	}
	if _, err := b.try("wait", "-gateways", one+","+one+"/", "-addresses", "2", "-timeout", "300ms"); err == nil || !strings.Contains(err.Error(), "only 1 of the 2 gateways") {
		t.Errorf("one gateway, named twice: %v", err)
	}
}
