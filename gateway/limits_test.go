package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"sluice/shared/sale"
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

func TestUserLimit_TooManyAttemptsOfOneBuyerFromAnywhere(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20, func(e *sale.Sale) { e.PerUserLimit = 5 })
	g := s.startReady(t, "-user-rate", "0.1", "-user-burst", "2", "-address-rate", "100", "-trusted-proxies", "127.0.0.1")
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada", from("203.0.113.1"), header("Idempotency-Key", "a")), http.StatusAccepted)
	g.expectStatus(g.attempt(e.ID, "ada", from("203.0.113.2"), header("Idempotency-Key", "b")), http.StatusAccepted)
	got := g.attempt(e.ID, "ada", from("203.0.113.3"), header("Idempotency-Key", "c"))
	g.expect(got, http.StatusTooManyRequests, "too-many-requests")
	for name, want := range map[string]string{"Retry-After": "10", "RateLimit": `"user";r=0;t=10`, "RateLimit-Policy": `"user";q=2;w=20`} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %s, want %s", name, got.header.Get(name), want)
		}
	}
	g.expectStatus(g.attempt(e.ID, "bob", from("203.0.113.3")), http.StatusAccepted)
	if mine := g.do(http.MethodGet, "/v1/sales/"+e.ID+"/tickets/me", "ada"); mine.status != http.StatusOK {
		t.Errorf("reading tickets: %s", mine.raw)
	}
	g.until("counted", func() bool {
		_, text := g.opsGet("/metrics")
		return strings.Contains(text, `sluice_funnel_exits_total{layer="user",outcome="too_many"} 1`+"\n")
	})
}
