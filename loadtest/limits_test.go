package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// Limits of the gateway under test. The burst comes back in five seconds, in which
// fewer others must come than are remembered, or forgetting would give it back.
const (
	limitRate   = 0.2 // attempts a second
	limitBurst  = 1
	perClient   = 640 // bytes of memory that one remembered client may cost, garbage included
	floodOthers = 1000
)

// flood sends attempts of ever other addresses and users through a trusted proxy's
// connections, and between them those of a few who keep sending.
type flood struct {
	t       *testing.T
	gateway stack.GatewayInfo
	secrets stack.Secrets
	began   time.Time
	next    atomic.Int64
	keep    map[string]*atomic.Int64
}

// attempt sends one attempt and returns its status and the policy that refused it.
func (f *flood) attempt(conn net.Conn, reader *bufio.Reader, address, user string) (status int, policy string) {
	token, err := auth.Mint([]byte(f.secrets.JWTHS256), f.secrets.JWTIssuer, f.secrets.JWTAudience, user, sale.Claims{}, time.Now(), time.Hour)
	if err == nil {
		_, err = fmt.Fprintf(conn, "POST /v1/sales/phone/orders HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nAuthorization: Bearer %s\r\n\r\n", address, token)
	}
	if err != nil {
		f.t.Error(err)
		return 0, ""
	}
	res, err := http.ReadResponse(reader, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		f.t.Error(err)
		return 0, ""
	}
	policy, _, _ = strings.Cut(res.Header.Get("RateLimit"), ";")
	return res.StatusCode, strings.Trim(policy, `"`)
}

// send takes its part of n attempts over one connection.
func (f *flood) send(ctx context.Context, n int64) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(f.gateway.URL, "http://"))
	if err != nil {
		f.t.Error(err)
		return
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for !f.t.Failed() && ctx.Err() == nil {
		i := f.next.Add(1)
		if i > n {
			return
		}
		if i%floodOthers == 0 {
			f.keepSending(conn, reader, i)
		}
		if status, policy := f.attempt(conn, reader, addressNumber(i), "user-"+strconv.FormatInt(i, 10)); status != http.StatusForbidden {
			f.t.Errorf("attempt %d, the first of its address and user: %d %s", i, status, policy)
		}
	}
}

// keepSending sends one attempt of each who keeps sending: some from one address as
// ever other users, some as one user from ever other addresses.
func (f *flood) keepSending(conn net.Conn, reader *bufio.Reader, i int64) {
	for name, let := range f.keep {
		address, user := name, fmt.Sprintf("of-%s-%d", name, i)
		want := "address"
		if strings.HasPrefix(name, "user") {
			address, user, want = addressNumber(1<<30+i*int64(len(f.keep))+int64(len(name))), name, "user"
		}
		switch status, policy := f.attempt(conn, reader, address, user); {
		case status == http.StatusForbidden:
			let.Add(1)
		case status != http.StatusTooManyRequests || policy != want:
			f.t.Errorf("%s: %d by %q", name, status, policy)
		}
	}
}

// addressNumber is the i-th of the addresses, every second one of IPv6, in a /64 of
// its own.
func addressNumber(i int64) string {
	if i%2 == 0 {
		return fmt.Sprintf("2001:db8:%x:%x::1", i>>16&0xffff, i&0xffff)
	}
	return net.IPv4(byte(20+i>>24), byte(i>>16), byte(i>>8), byte(i)).String()
}

func TestLimits_MemoryIsBoundedAndTheyHoldForAnyNumberOfClients(t *testing.T) {
	t.Parallel()
	clients, attempts := 5_000, int64(20_000)
	if devstack.Long() {
		clients, attempts = 100_000, 1_000_000
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	f := openLimited(ctx, t, clients)
	f.flood(ctx, 2000) // what is first costs memory of its own: connections, buffers, code
	heapBefore, rssBefore := f.memory(ctx)
	f.flood(ctx, attempts)
	heap, rss := f.memory(ctx)
	took := time.Since(f.began)
	t.Logf("%d addresses and users in %v, %d of each remembered: heap %+.1f MB, resident %.1f MB, %+.1f", attempts, took, clients, (heap-heapBefore)/1e6, rss/1e6, (rss-rssBefore)/1e6)
	// Its address, user and token. Threefold slack. The race detector's own memory is not in the heap.
	if most := float64(3 * perClient * 3 * clients); heap-heapBefore > most {
		t.Errorf("the heap grew by %.0f bytes, more than %.0f", heap-heapBefore, most)
	}
	most := int64(limitBurst + limitRate*took.Seconds() + 1)
	for name, let := range f.keep {
		if n := let.Load(); n < 1 || n > most {
			t.Errorf("%s: %d attempts let through within %v, at most %d are allowed", name, n, took, most)
		}
	}
}

// openLimited starts a stack whose gateway takes this machine for a trusted proxy,
// and has a sale that nobody here may buy in: attempts leave behind both limits.
func openLimited(ctx context.Context, t *testing.T, clients int) *flood {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("sales:\n  - {id: phone, total: 10, price: 100, opens_at: %s, closes_at: %s, eligibility: {min_paid_orders: 1}}\n",
		inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour)))
	sales := filepath.Join(dir, "sales.yaml")
	must(t, os.WriteFile(sales, []byte(text), 0o600))
	env := []string{"SLUICE_TRUSTED_PROXIES=127.0.0.1", fmt.Sprintf("SLUICE_TOKEN_CACHE=%d", clients)}
	for _, limit := range []string{"ADDRESS", "USER"} {
		env = append(env, fmt.Sprintf("SLUICE_%s_RATE=%v", limit, limitRate), fmt.Sprintf("SLUICE_%s_BURST=%d", limit, limitBurst), fmt.Sprintf("SLUICE_%s_CLIENTS=%d", limit, clients))
	}
	s, err := stack.Start(ctx, stack.Config{Gateways: 1, Workers: 1, SalesFile: sales, OutDir: dir, BinDir: programs(t),
		Log: slog.New(slog.DiscardHandler), FirstEnv: map[string][]string{"gateway-0": env}})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &flood{t: t, gateway: s.Info().Gateways[0], secrets: s.Info().Secrets, began: time.Now(), keep: map[string]*atomic.Int64{}}
	for i := range 5 {
		f.keep[fmt.Sprintf("198.51.100.%d", i)] = new(atomic.Int64)
		f.keep["user"+strings.Repeat("-", i)] = new(atomic.Int64)
	}
	return f
}

// flood sends n attempts.
func (f *flood) flood(ctx context.Context, n int64) {
	n += f.next.Load()
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() { f.send(ctx, n) })
	}
	senders.Wait()
}

// memory is what the gateway's heap may grow to before it is collected, which counts
// garbage too, and what the process has of the machine's memory.
func (f *flood) memory(ctx context.Context) (heap, resident float64) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.gateway.OpsURL+"/metrics", nil)
	must(f.t, err)
	res, err := http.DefaultClient.Do(req)
	must(f.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(f.t, err)
	value := func(name string) (v float64) {
		_, after, found := strings.Cut(string(text), "\n"+name+" ")
		if _, err := fmt.Sscan(after, &v); !found || err != nil {
			f.t.Fatal(errors.Join(fmt.Errorf("no metric %s", name), err))
		}
		return v
	}
	return value("go_memstats_next_gc_bytes"), value("process_resident_memory_bytes")
}
