package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"sluice/shared/service"
)

func from(addresses string) func(*http.Request) { return header("X-Forwarded-For", addresses) }

func TestAddressLimit_BehindATrustedProxyIsOfTheClient(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	g := s.startReady(t, "-address-rate", "0.01", "-address-burst", "1", "-trusted-proxies", "127.0.0.0/8,10.0.0.0/8")
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada", from("203.0.113.1")), http.StatusAccepted)
	g.expectStatus(g.attempt(e.ID, "bob", from("203.0.113.2, 10.0.0.1")), http.StatusAccepted)
	for name, same := range map[string][]func(*http.Request){
		"again":                    {from("203.0.113.1")},
		"behind another proxy":     {from("203.0.113.1, 10.0.0.7")},
		"and says it is another":   {from("198.51.100.1, 203.0.113.1")},
		"in a header of its own":   {from("198.51.100.2"), from("203.0.113.1")},
		"and says it is the proxy": {from("127.0.0.1,10.0.0.1,203.0.113.1")},
		"with a port":              {from("203.0.113.1:4711")},
	} {
		if got := g.attempt(e.ID, "cyn", same...); got.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
	g.expectStatus(g.attempt(e.ID, "dan", from("2001:db8:1:1::1")), http.StatusAccepted)
	g.expect(g.attempt(e.ID, "eve", from("2001:db8:1:1::2")), http.StatusTooManyRequests, "too-many-requests")
	g.expectStatus(g.attempt(e.ID, "fay", from("2001:db8:1:2::1")), http.StatusAccepted)
}

func TestAddressLimit_IgnoresForwardedForOfStrangers(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	for _, proxies := range []string{"", "10.0.0.0/8"} {
		g := s.startReady(t, "-address-rate", "0.01", "-address-burst", "1", "-trusted-proxies", proxies)
		g.untilWarm(e.ID)
		g.expectStatus(g.attempt(e.ID, "ada"+proxies, from("203.0.113.1")), http.StatusAccepted)
		g.expect(g.attempt(e.ID, "bob", from("203.0.113.2")), http.StatusTooManyRequests, "too-many-requests")
	}
}

func TestRun_TrustedProxiesAreNetworks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"proxy", "0.0.0.0/0", "10.0.0.1/8"} {
		_, err := parse([]string{"-trusted-proxies", text}, func(string) string { return "" })
		if err == nil || !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), "SLUICE_TRUSTED_PROXIES") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
