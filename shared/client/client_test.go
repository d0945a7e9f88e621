package client

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestNew_RefusesBaseURLsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{nil, {""}, {"gateway:8080"}, {"ftp://gateway"}, {"http://ok", "://"}} {
		if _, err := New(Config{BaseURLs: bad}); err == nil {
			t.Errorf("base urls %q are taken", bad)
		}
	}
}

func TestReads_AreRepeatedAndPublicOnesCarryNoToken(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch {
		case n < 2:
			status(w, 503, "")
		case req.URL.Path == "/v1/sales/phone":
			status(w, 200, Sale{ID: "phone", Price: 199900})
		default:
			status(w, 200, map[string]any{"sales": []Sale{{ID: "phone"}, {ID: "tv"}}})
		}
		if req.Header.Get("Authorization") != "" {
			t.Error("a public read carries the buyer's token")
		}
	}, func(r *rig) {
		all, err := r.client.Sales(r.t.Context())
		if err != nil || len(all) != 2 || all[1].ID != "tv" {
			t.Errorf("sales %+v, %v", all, err)
		}
		one, err := r.client.Sale(r.t.Context(), "phone")
		if err != nil || one.Price != 199900 {
			t.Errorf("sale %+v, %v", one, err)
		}
		r.asked("GET /v1/sales", "GET /v1/sales", "GET /v1/sales", "GET /v1/sales/phone")
	})
}

func TestMyTickets_IdsAreEscaped(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 404, NoSuchSale, "", nil) }, func(r *rig) {
		_, err := r.client.MyTickets(r.t.Context(), "../x?y")
		if refused := wantRefusal(t, err, NoSuchSale); refused.Status != 404 {
			t.Errorf("refusal %+v", refused)
		}
		r.asked("GET /v1/sales/..%2Fx%3Fy/tickets/me")
	})
}

// Not parallel: it looks at every goroutine of the process.
func TestClose_LeavesNoConnectionBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { status(w, 200, list(queued("t1", time.Second))) }))
	c, err := New(Config{BaseURLs: []string{server.URL}, Token: "jwt"})
	if err != nil {
		t.Fatal(err)
	}
	if mine, err := c.MyTickets(t.Context(), "phone"); err != nil || len(mine) != 1 {
		t.Fatalf("tickets %+v, %v", mine, err)
	}
	c.Close()
	server.Close()
	goleak.VerifyNone(t, before)
}
