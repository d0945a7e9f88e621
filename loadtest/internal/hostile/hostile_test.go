package hostile

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func target() Target {
	return Target{Sale: "phone", User: "stranger", Token: "token", Trusted: "127.9.0.1",
		Keys: Keys{JWT: strings.Repeat("j", 32), Issuer: "shop", Audience: "sluice", Webhook: strings.Repeat("w", 32)}}
}

// everything is all that is sent with a seed.
func everything(t *testing.T, seed uint64) []Request {
	t.Helper()
	v := Victim{User: "ada", Ticket: strings.Repeat("A", 40) + ".BBBBBBBBBBBBBBBBBBBBBB", Order: "0192e4a0-7c3b-7def-8123-456789abcde0"}
	foreign, err := target().Tickets(v, Victim{User: "bob", Ticket: strings.Repeat("C", 40) + ".DDDDDDDDDDDDDDDDDDDDDD"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	return slices.Concat(target().Bodies(random), target().Shapes(), target().Users(), target().Events(random), target().Identities(v), foreign, target().Orders(v))
}

func TestRequests_HaveARefusalEach(t *testing.T) {
	t.Parallel()
	for _, r := range everything(t, 1) {
		if r.Status < 400 || r.Status > 499 || r.Problem == "" || r.Bytes == "" {
			t.Errorf("%q must be answered %d %s", r.Name, r.Status, r.Problem)
		}
	}
}

func TestBodies_AreOfEveryPowerOfTenUpTo1GiB(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		all := sizes(rand.New(rand.NewPCG(seed, 0)))
		if slices.Min(all) != 1 || slices.Max(all) != 1<<30 {
			t.Fatalf("seed %d: sizes %v", seed, all)
		}
		for low := int64(1); low < 1<<30; low *= 10 {
			if !slices.ContainsFunc(all, func(n int64) bool { return low <= n && n < 20*low }) {
				t.Errorf("seed %d: none of about %d among %v", seed, low, all)
			}
		}
	}
}

// What is written is as long as it says.
func TestBodies_HaveTheLengthTheyTell(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 4095, 4096, 65_536, 65_537, 300_001} {
		for name, r := range map[string]Request{"length": sized("POST / HTTP/1.1\r\nHost: x\r\n", size), "chunks": inChunks("POST / HTTP/1.1\r\nHost: x\r\n", size)} {
			got := int64(-1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				got, _ = io.Copy(io.Discard, req.Body)
			}))
			if _, err := Send(t.Context(), server.Listener.Addr().String(), r); err != nil {
				t.Errorf("%d by %s: %v", size, name, err)
			}
			server.Close()
			if got != size {
				t.Errorf("%d by %s arrived as %d", size, name, got)
			}
		}
	}
}

// A gateway that believed everybody would be noticed by every request that it can read.
func TestSend_ServedIsNotRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(server.Close)
	r := Request{Name: "any", Bytes: target().mine() + "\r\n", Status: http.StatusUnauthorized, Problem: "unauthenticated"}
	a, err := Send(t.Context(), server.Listener.Addr().String(), r)
	if err != nil || a.Status != http.StatusAccepted || a.Sent != int64(len(r.Bytes)) {
		t.Fatalf("answer %+v, %v", a, err)
	}
	if got := r.Differs(a); !strings.Contains(got, "must be 401 unauthenticated") {
		t.Errorf("it differs by %q", got)
	}
}

// The answer to what is too large comes while it is sent, and is not lost.
func TestSend_ReadsAnAnswerThatComesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"type":"/problems/too-large"}`)
	}))
	t.Cleanup(server.Close)
	r := sized(target().mine(), largest)
	a, err := Send(t.Context(), server.Listener.Addr().String(), r)
	if err != nil || r.Differs(a) != "" || a.Sent >= largest {
		t.Errorf("answer %+v, %v", a, err)
	}
}
