package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/shared/sale"
)

func TestPage_IsServedFromMemoryAndKept(t *testing.T) {
	t.Parallel()
	g := sharedStores(t).startReady(t)
	plain := g.do(http.MethodGet, "/", "", header("Accept-Encoding", "identity"))
	g.expectStatus(plain, http.StatusOK)
	if !strings.HasPrefix(plain.raw, "<!doctype html>") || !strings.Contains(plain.raw, `data-local="false"`) || plain.header.Get("Content-Encoding") != "" {
		t.Errorf("got %.80s %v", plain.raw, plain.header)
	}
	g.expectStatus(g.do(http.MethodGet, "/", "", header("Accept-Encoding", "identity"), header("If-None-Match", plain.header.Get("ETag"))), http.StatusNotModified)
	req, err := http.NewRequest(http.MethodGet, g.url+"/", nil)
	must(t, err)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	if tag := res.Header.Get("ETag"); res.Header.Get("Content-Encoding") != "gzip" || tag == plain.header.Get("ETag") || res.ContentLength > int64(len(plain.raw)/2) {
		t.Errorf("compressed: %v, %d bytes", res.Header, res.ContentLength)
	}
}

func TestLocalShop_IsThereOnlyWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	g := s.startReady(t)
	for _, path := range []string{"/local/token", "/local/payment"} {
		g.expect(g.do(http.MethodPost, path, "", body(`{"user":"ada"}`), header("Content-Type", "application/json")), http.StatusNotFound, "not-found")
	}
	for _, args := range [][]string{
		{"-local-shop-workers", "http://127.0.0.1:1", "-local-shop-webhook-key", jwtKey, "-listen", "0.0.0.0:8080"},
		{"-local-shop-workers", "http://127.0.0.1:1", "-local-shop-webhook-key", jwtKey, "-listen", ":8080"},
		{"-local-shop-workers", "http://127.0.0.1:1"}, {"-local-shop-webhook-key", jwtKey},
		{"-local-shop-workers", "127.0.0.1:1", "-local-shop-webhook-key", jwtKey},
		{"-local-shop-workers", "http://127.0.0.1:1", "-local-shop-webhook-key", jwtKey, "-trusted-proxies", "127.0.0.1"},
	} {
		all := append([]string{"-jwt-hs256", jwtKey, "-jwt-issuer", "shop", "-jwt-audience", "sluice", "-ticket-key", jwtKey}, args...)
		if _, err := parse(all, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "SLUICE_LOCAL_SHOP") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestLocalShop_SignsInAndPays(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5, func(s *sale.Sale) { s.Eligibility.MinPaidOrders = 3 })
	var got []string
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Sluice-Signature"))
		if len(got) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(worker.Close)
	g := s.startReady(t, "-local-shop-workers", worker.URL, "-local-shop-webhook-key", jwtKey)
	g.untilWarm(e.ID)
	json := header("Content-Type", "application/json")
	signedIn := g.do(http.MethodPost, "/local/token", "", body(`{"user":"ada"}`), json)
	g.expectStatus(signedIn, http.StatusOK)
	bearer := header("Authorization", "Bearer "+signedIn.text("token"))
	g.expectStatus(g.attempt(e.ID, "", bearer), http.StatusAccepted)
	const payment = `{"order_id":"01935fd2-d6eb-7592-aa3e-cd665a5d9b60","amount":199900,"currency":"CNY"}`
	g.expectStatus(g.do(http.MethodPost, "/local/payment", "", body(payment), json), http.StatusOK)
	g.expect(g.do(http.MethodPost, "/local/payment", "", body(payment), json), http.StatusServiceUnavailable, "unavailable")
	if len(got) != 2 || !strings.HasPrefix(got[0], "/v1/payments/webhook t=") {
		t.Errorf("the worker was told %q", got)
	}
	for _, bad := range []struct {
		path, body, field string
		kind              func(*http.Request)
	}{
		{"/local/token", `{"user":""}`, "user", json}, {"/local/token", `{"name":"ada"}`, "name", json}, {"/local/token", `{"user":"ada"}`, "Content-Type", header("Content-Type", "text/plain")},
		{"/local/payment", `{"order_id":"x","amount":1,"currency":"CNY"}`, "order_id", json}, {"/local/payment", `{}`, "order_id", json},
	} {
		answer := g.do(http.MethodPost, bad.path, "", body(bad.body), bad.kind)
		g.expect(answer, http.StatusBadRequest, "invalid-request")
		if answer.text("field") != bad.field {
			t.Errorf("%s %s: field %q, want %q", bad.path, bad.body, answer.text("field"), bad.field)
		}
	}
	foreign := g.do(http.MethodPost, "/local/token", "", body(`{"user":"ada"}`), json, func(r *http.Request) { r.Host = "shop.test" })
	g.expect(foreign, http.StatusNotFound, "not-found")
}
