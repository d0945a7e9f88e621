package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
)

const (
	passingBuyers = 5  // of each sale, for as many units
	passingBatch  = 12 // sales at a time, at most
)

// mayGrow is the share by which what is in use may differ between a fifth of the sales
// and all of them.
const mayGrow = 0.05

// passing is how many sales come and go.
func passing() int {
	if devstack.Long() {
		return 1000
	}
	return 30
}

// TestRetire_ManySalesLeaveNothingButRows opens, sells and retires small sales one
// after the other. What is in use is measured when a fifth of them are gone, and when
// all are.
func TestRetire_ManySalesLeaveNothingButRows(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	sales := passing()
	// Small pools, so that a fifth of the sales fills them: a connection and its buffers
	// take more than a sale leaves behind if it leaves anything.
	retire := []string{"SLUICE_REDIS_POOL=6", "SLUICE_POSTGRES_CONNS=4", "SLUICE_CONSUMERS=3", "SLUICE_POSTGRES_BUYER_CONNS=1", "SLUICE_POSTGRES_OPERATOR_CONNS=1", "SLUICE_REBUILDS=1", "SLUICE_RETENTION=0s", "SLUICE_RETIRE_EVERY=100ms", "SLUICE_FORGET_AFTER=1s", "SLUICE_EXPIRE_EVERY=100ms"}
	s := openScene(ctx, t, 5, passingBuyers, stack.Config{Gateways: 2, Workers: 2, FirstEnv: map[string][]string{
		"gateway-0": retire, "gateway-1": retire, "worker-0": retire, "worker-1": retire,
	}})
	p := &passage{scene: s, redis: openRedis(t, s), jetstream: openJetStream(t, s), database: openDatabase(ctx, t, s)}
	p.pass(ctx, 0, sales/5)
	first := p.use(ctx)
	p.pass(ctx, sales/5, sales)
	last := p.use(ctx)
	for name, before := range first {
		after := last[name]
		t.Logf("%-24s %12.0f then %12.0f", name, before, after)
		if after > before*(1+mayGrow) && after-before > slack(name) {
			t.Errorf("%s was %.0f after %d sales and is %.0f after %d", name, before, sales/5, after, sales)
		}
	}
	if rows := p.rows(ctx); rows < p.sold || p.sold < int64(sales*passingBuyers*9/10) {
		t.Errorf("%d orders are kept, %d of %d units were sold", rows, p.sold, sales*passingBuyers)
	}
}

// slack is what may come on top: connections that come and go, and in a short run
// those that are first used in its course, with their buffers.
func slack(name string) float64 {
	switch {
	case strings.HasSuffix(name, "goroutines"):
		return 10
	case strings.HasSuffix(name, "heap"):
		return 768 << 10 // also what a connection remembers of the statements that it has met
	case strings.HasSuffix(name, "series"):
		return 40 // labels of a closed set that come up late
	case name == "redis bytes":
		return 256 << 10 // buffers of its connections, which come and go; the keys are counted
	}
	return 0
}

type passage struct {
	*scene
	redis     *redis.Client
	jetstream jetstream.JetStream
	database  *pgx.Conn
	sold      int64 // units that buyers were told they have
}

// pass opens the sales from first to end, a few at a time, sells each, and waits until
// none of them is left.
func (p *passage) pass(ctx context.Context, first, end int) {
	p.t.Helper()
	for n := first; n < end; n += passingBatch {
		ids := p.open(ctx, n, min(passingBatch, end-n))
		for _, id := range ids {
			p.saleID = id
			var winners record.Winners
			p.until(ctx, "both gateways know sale "+id, func() bool { return p.shown(ctx, 0) && p.shown(ctx, 1) })
			got := p.attackFrom(ctx, &winners, 0, passingBuyers, 1000)
			p.sold += got[0] + got[1] // on a busy machine a small pool may refuse one
		}
		_, err := p.database.Exec(ctx, `UPDATE sales SET closes_at = now(), rev = rev + 1 WHERE sale_id = ANY ($1)`, ids) // closed early
		p.must(err)
	}
	p.until(ctx, "the sales are forgotten", func() bool {
		entries, err := p.stores.Postgres.Entries(ctx)
		p.must(err)
		for i := range 2 {
			if len(entries) == 1 && p.salesAt(ctx, i) != 1 { // the scene's own stays
				return false
			}
		}
		return len(entries) == 1
	})
}

// open applies a few sales.
func (p *passage) open(ctx context.Context, first, n int) []string {
	p.t.Helper()
	ids := make([]string, n)
	var text strings.Builder
	text.WriteString("sales:\n")
	for i := range ids {
		ids[i] = fmt.Sprintf("passing-%d", first+i)
		fmt.Fprintf(&text, "  - {id: %s, total: 5, price: 100, hold: 1s, opens_at: %s, closes_at: %s}\n",
			ids[i], inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour)))
	}
	file := filepath.Join(p.dir, "passing.yaml")
	p.must(os.WriteFile(file, []byte(text.String()), 0o600))
	info := p.stack.Info()
	cmd := exec.CommandContext(ctx, filepath.Join(programs(p.t), "warmup"), "apply",
		"-redis-url", info.Redis.URL, "-nats-url", info.NATS.URL, "-postgres-url", info.Postgres.URL, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("apply: %v\n%s", err, out)
	}
	return ids
}

func (p *passage) shown(ctx context.Context, gateway int) bool {
	status, body := p.get(ctx, p.gateway(gateway)+"/v1/sales/"+p.saleID, "")
	return status == http.StatusOK && strings.Contains(body, `"state":"open"`)
}

// salesAt counts the sales that a gateway knows, retired ones too.
func (p *passage) salesAt(ctx context.Context, gateway int) int {
	_, body := p.get(ctx, p.stack.Info().Gateways[gateway].OpsURL+"/metrics", "")
	return int(metricOf(p.t, body, "sluice_sales_known"))
}

// use is what processes and stores have in use, by name.
func (p *passage) use(ctx context.Context) map[string]float64 {
	p.t.Helper()
	used := map[string]float64{}
	info := p.stack.Info()
	for i, g := range info.Gateways {
		p.process(ctx, used, fmt.Sprintf("gateway %d", i), g.OpsURL, g.PID, info.Secrets.AdminToken)
	}
	for i, w := range info.Workers {
		p.process(ctx, used, fmt.Sprintf("worker %d", i), w.AdminURL, w.PID, info.Secrets.AdminToken)
	}
	// The servers let go of things in the background.
	p.least(ctx, used, "redis bytes", func() float64 { return p.redisUses(ctx, "used_memory") - p.redisUses(ctx, "mem_clients_normal") })
	p.least(ctx, used, "redis keys", func() float64 {
		n, err := p.redis.DBSize(ctx).Result()
		p.must(err)
		return float64(n)
	})
	for _, name := range []string{jetqueue.StreamName, "KV_" + jetqueue.BucketName} {
		stream, err := p.jetstream.Stream(ctx, name)
		p.must(err)
		p.least(ctx, used, name+" bytes", func() float64 {
			state, err := stream.Info(ctx)
			p.must(err)
			return float64(state.State.Bytes)
		})
		p.least(ctx, used, name+" consumers", func() float64 {
			state, err := stream.Info(ctx)
			p.must(err)
			return float64(state.State.Consumers)
		})
	}
	return used
}

// redisUses reads a number of INFO memory.
func (p *passage) redisUses(ctx context.Context, name string) float64 {
	p.t.Helper()
	text, err := p.redis.Info(ctx, "memory").Result()
	p.must(err)
	return number(p.t, regexp.MustCompile(name + `:(\d+)`).FindStringSubmatch(text)[1])
}

// process measures one process. Its heap is read between a collection and the writing
// of the profile that asks for it.
func (p *passage) process(ctx context.Context, used map[string]float64, name, ops string, pid int, token string) {
	p.t.Helper()
	p.least(ctx, used, name+" heap", func() float64 {
		status, text := p.get(ctx, ops+"/debug/pprof/heap?gc=1&debug=1", token)
		found := regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`).FindStringSubmatch(text)
		if status != http.StatusOK || found == nil {
			p.t.Fatalf("no profile of %s: %d", name, status)
		}
		return number(p.t, found[1])
	})
	_, text := p.get(ctx, ops+"/metrics", "")
	used[name+" goroutines"] = metricOf(p.t, text, "go_goroutines")
	used[name+" series"] = float64(len(regexp.MustCompile(`(?m)^sluice_`).FindAllString(text, -1)))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	p.must(err)
	rss := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	p.t.Logf("%s has %s kB resident", name, rss[1])
}

// least keeps the least of some readings: what is about to be freed does not count.
func (p *passage) least(ctx context.Context, used map[string]float64, name string, read func() float64) {
	p.t.Helper()
	used[name] = math.Inf(1)
	for range 6 {
		used[name] = min(used[name], read())
		select {
		case <-ctx.Done():
			p.t.Fatal(ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// rows counts the orders that Postgres keeps.
func (p *passage) rows(ctx context.Context) (orders int64) {
	p.t.Helper()
	p.must(p.database.QueryRow(ctx, `SELECT count(*) FROM orders`).Scan(&orders))
	return orders
}

func (p *passage) get(ctx context.Context, url, token string) (int, string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	p.must(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	p.must(err)
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, response.Body)
	p.must(err)
	return response.StatusCode, body.String()
}

func metricOf(t *testing.T, text, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no metric %s", name)
	}
	return number(t, found[1])
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func openRedis(t *testing.T, s *scene) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(s.stack.Info().Redis.URL)
	s.must(err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func openJetStream(t *testing.T, s *scene) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(s.stack.Info().NATS.URL)
	s.must(err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	s.must(err)
	return js
}

func openDatabase(ctx context.Context, t *testing.T, s *scene) *pgx.Conn {
	t.Helper()
	database, err := pgx.Connect(ctx, s.stack.Info().Postgres.URL)
	s.must(err)
	t.Cleanup(func() { _ = database.Close(context.WithoutCancel(ctx)) })
	return database
}
