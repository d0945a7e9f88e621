package attack

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/loadtest/internal/pacer"
	"sluice/shared/sale"
)

// serve answers with h on a loopback port until the test ends.
func serve(t *testing.T, h fasthttp.RequestHandler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &fasthttp.Server{Handler: h}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.ShutdownWithContext(ctx); err != nil {
			t.Errorf("cannot stop server: %v", err)
		}
		if err := <-stopped; err != nil {
			t.Errorf("server ended: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}

func answers(status int, body string) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(status)
		ctx.SetBodyString(body)
	}
}

func TestRun_SendsEveryAttemptOnceAndNotBeforeItIsDue(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		asked.Add(1)
		answers(409, `{"type":"/problems/sold-out","status":409}`)(ctx)
	})
	a := New(Config{Connections: 8, Timeout: 5 * time.Second})
	t.Cleanup(a.Close)
	const attempts = 300
	schedule := pacer.Constant(2000, attempts)
	start := time.Now().Add(20 * time.Millisecond)
	var mu sync.Mutex
	seen := make(map[int]Answer)
	late := a.Run(context.Background(), Plan{
		Attempts: attempts, Start: start, Due: schedule.Due,
		Shot: func(int) Shot { return Shot{URL: url, Token: "t"} },
		Answered: func(i int, answer Answer) {
			mu.Lock()
			defer mu.Unlock()
			seen[i] = answer
		},
	})
	if asked.Load() != attempts || len(seen) != attempts || late.Attempts != attempts {
		t.Fatalf("%d asked, %d answered, %d counted, want %d", asked.Load(), len(seen), late.Attempts, attempts)
	}
	for i, answer := range seen {
		if answer.Outcome != sale.SoldOut.String() || answer.Sent.Before(start.Add(schedule.Due(i))) {
			t.Fatalf("attempt %d: %+v", i, answer)
		}
	}
}

// One connection and a server that takes 40 ms an answer: the third attempt has
// waited for two others, and its latency says so.
func TestRun_WaitingForAConnectionIsLatency(t *testing.T) {
	t.Parallel()
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		<-time.After(40 * time.Millisecond) // the slow server under test
		answers(202, `{"ticket":"x","status":"queued"}`)(ctx)
	})
	a := New(Config{Connections: 1, Timeout: 5 * time.Second})
	t.Cleanup(a.Close)
	var last time.Duration
	late := a.Run(context.Background(), Plan{
		Attempts: 3, Start: time.Now(), Due: func(int) time.Duration { return 0 },
		Shot:     func(int) Shot { return Shot{URL: url} },
		Answered: func(_ int, answer Answer) { last = answer.Latency },
	})
	if last < 120*time.Millisecond {
		t.Errorf("the third attempt waited %s, want at least three answers' time", last)
	}
	if late.Connections < 2 || !strings.Contains(late.String(), "connections were the limit") {
		t.Errorf("lateness %+v: %s", late, late)
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	a := New(Config{Connections: 4, Timeout: time.Second})
	t.Cleanup(a.Close)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	late := a.Run(ctx, Plan{
		Attempts: 10, Start: time.Now().Add(time.Hour), Due: func(int) time.Duration { return 0 },
		Shot: func(int) Shot { return Shot{} }, Answered: func(int, Answer) { t.Error("an attempt was sent") },
	})
	if late.Attempts != 0 {
		t.Errorf("%d attempts sent", late.Attempts)
	}
}

func TestRun_NobodyListensIsAFault(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	a := New(Config{Connections: 1, Timeout: time.Second})
	t.Cleanup(a.Close)
	a.Run(context.Background(), Plan{
		Attempts: 1, Start: time.Now(), Due: func(int) time.Duration { return 0 },
		Shot: func(int) Shot { return Shot{URL: url} },
		Answered: func(_ int, answer Answer) {
			if answer.Outcome != OutcomeFault || answer.Err == nil {
				t.Errorf("answer %+v, want a fault", answer)
			}
		},
	})
}

func TestLateness_SaysWhatTheLimitWas(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]Lateness{
		"schedule was kept":    {Attempts: 1000, Tool: 5, Connections: 5},
		"tool was the limit":   {Attempts: 1000, Tool: 50, Connections: 5},
		"connections were the": {Attempts: 1000, Tool: 5, Connections: 50},
	} {
		if got := l.String(); !strings.Contains(got, want) {
			t.Errorf("%+v says %q, want %q", l, got, want)
		}
	}
}
