package redisstock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"sluice/lua"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// onClusterURL has the tests of one server run on a cluster.
const onClusterURL = "REDISSTOCK_CLUSTER"

func TestCluster_EveryTestOfOneServerPassesThereToo(t *testing.T) {
	t.Parallel()
	if os.Getenv(onClusterURL) != "" {
		t.Skip("this is the run on the cluster")
	}
	url := devstack.RedisClusterForTest(t).URL()
	self, err := os.Executable()
	must(t, err)
	run := exec.CommandContext(t.Context(), self, "-test.count=1",
		"-test.run=^Test(Adjust|StageAllow|SwapAllow|Configure|AllowList|Clear|Correct|Fence|Flip|LoadTickets|Every|OlderEpochs|Scripts|Settle|Release|Overdue|EachTicket|Reserve)")
	run.Env = append(os.Environ(), onClusterURL+"="+url)
	if out, err := run.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
		t.Errorf("%v\n%s", err, out)
	}
}

func startCluster(t *testing.T, o devstack.Options) *devstack.RedisCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	c, err := devstack.StartRedisCluster(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func masterOf(t testing.TB, cluster *devstack.RedisCluster, s sale.Sale) *devstack.Server {
	t.Helper()
	at, err := cluster.MasterOf(t.Context(), keys(s.ID, 1)[0])
	must(t, err)
	return at
}

// eachMaster has one loaded sale on every master.
func eachMaster(t testing.TB, cluster *devstack.RedisCluster, c *Client, total int64) map[*devstack.Server]sale.Sale {
	t.Helper()
	sales := make(map[*devstack.Server]sale.Sale)
	for len(sales) < 3 {
		s := openSale(total)
		if at := masterOf(t, cluster, s); sales[at].ID == "" {
			loadEmpty(t, c, s)
			sales[at] = s
		}
	}
	return sales
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 30s: " + what)
		}
	}
}

func TestCluster_WhatIsAboutNoSaleIsAboutEveryMaster(t *testing.T) {
	t.Parallel()
	cluster := devstack.RedisClusterForTest(t)
	c := connectTo(t, Config{URL: cluster.URL(), PoolSize: 8, MinIdle: 4, Timeout: 5 * time.Second})
	if !c.Sharded() {
		t.Error("not sharded")
	}
	must(t, c.Ping(t.Context()))
	must(t, c.PingShards(t.Context()))
	at, err := c.Time(t.Context())
	must(t, err)
	if time.Since(at).Abs() > time.Minute {
		t.Errorf("time %v", at)
	}
	masters, err := Masters(t.Context(), c.rdb)
	must(t, err)
	must(t, c.LoadScripts(t.Context()))
	for _, master := range masters {
		for _, s := range lua.All() {
			there, err := master.ScriptExists(t.Context(), c.scripts[s.Name].Hash()).Result()
			must(t, err)
			equal(t, s.Name+" at "+master.Options().Addr, there[0], true)
		}
	}
	eventually(t, "connections to every master stand", func() bool { return c.Dialled(t.Context()) == nil })
	for _, master := range masters {
		if n := master.PoolStats().TotalConns; n < 4 {
			t.Errorf("%d connections to %s", n, master.Options().Addr)
		}
	}
	all, err := c.Settings(t.Context())
	must(t, err)
	equal(t, "masters", len(all), 3)
	for i, s := range all {
		equal(t, "node", s.Node, masters[i].Options().Addr)
		want := Settings{Node: s.Node, Version: s.Version, AppendOnly: "yes", AppendFsync: "everysec", LastWrite: "ok", MaxMemoryPolicy: "noeviction",
			Replicas: 1, MinReplicas: 1, FullCoverage: "no", Now: s.Now, Asked: s.Asked, Answered: s.Answered}
		equal(t, "settings", s, want)
	}
	must(t, c.CheckScripts(t.Context()))
}

func TestCluster_AMasterWithoutScriptsIsSentThem(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, devstack.Options{})
	c := connectTo(t, Config{URL: cluster.URL(), Timeout: 5 * time.Second})
	for _, s := range eachMaster(t, cluster, c, 5) {
		masters, err := Masters(t.Context(), c.rdb)
		must(t, err)
		for _, master := range masters {
			must(t, master.ScriptFlush(t.Context()).Err())
		}
		_, d := reserve(t, c, s, attempt("ada"))
		equal(t, "code", d[0].Code, sale.DecidedAccepted)
	}
}

// cutting breaks connections once they have carried a script's call, before its reply is
// read.
type cutting struct{ armed, sent atomic.Int32 }

type cutConn struct {
	net.Conn
	by  *cutting
	cut atomic.Bool
}

func (c *cutting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, by: c}, nil
}

func (c *cutConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if strings.Contains(string(p), "evalsha") {
		c.by.sent.Add(1)
		c.cut.Store(c.by.armed.Load() == 1)
	}
	return n, err
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.cut.Load() {
		one := make([]byte, 1)
		_, _ = c.Conn.Read(one) // the reply is here: it has run
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

func TestCluster_ALostReplyIsAnUnknownOutcomeAndNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	cluster := devstack.RedisClusterForTest(t)
	s := newLoadedSale(t, connectTo(t, Config{URL: cluster.URL(), Timeout: 5 * time.Second}), 5)
	var cut cutting
	a, err := parseURL(cluster.URL())
	must(t, err)
	a.cluster.Dialer = cut.dial
	c := connectTo(t, Config{URL: cluster.URL()})
	must(t, c.rdb.Close())
	c.rdb = a.open(Config{Timeout: 5 * time.Second})

	reserve(t, c, s, attempt("before"))
	cut.armed.Store(1)
	cut.sent.Store(0)
	lost := attempt("ada")
	if _, _, err := c.Reserve(t.Context(), s.ID, 1, []sale.Attempt{lost}); !errors.Is(err, io.EOF) {
		t.Fatalf("the lost reply is %v", err)
	}
	equal(t, "calls sent", cut.sent.Load(), 1)
	cut.armed.Store(0)
	snap, d := reserve(t, c, s, lost)
	equal(t, "outcome that was stored", d[0].Code, sale.DecidedAccepted)
	equal(t, "stock", snap.Stock, 3)
}

// buyers attempt one sale all the time, each attempt under its rid until it is answered.
type buyers struct {
	client *Client
	s      sale.Sale
	epoch  atomic.Int64
	stop   context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]sale.Ticket    // by rid
	refused  map[sale.DecisionCode]int // that are neither accepted nor a replay
	faults   map[string]int
}

func buy(t *testing.T, c *Client, s sale.Sale, many int) *buyers {
	ctx, stop := context.WithCancel(t.Context())
	b := &buyers{client: c, s: s, stop: stop, accepted: map[string]sale.Ticket{}, refused: map[sale.DecisionCode]int{}, faults: map[string]int{}}
	b.epoch.Store(1)
	for i := range many {
		b.all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				b.attempt(ctx, attempt(fmt.Sprintf("user-%d-%d", i, n)))
				time.Sleep(time.Millisecond) // a flood would only slow the servers
			}
		})
	}
	t.Cleanup(func() {
		b.end()
		if t.Failed() {
			t.Logf("buyers of %s: %d accepted, met %v", s.ID, len(b.accepted), b.faults)
		}
	})
	return b
}

func (b *buyers) end() {
	b.stop()
	b.all.Wait()
}

func (b *buyers) attempt(ctx context.Context, a sale.Attempt) {
	for ctx.Err() == nil {
		_, d, err := b.client.Reserve(context.WithoutCancel(ctx), b.s.ID, b.epoch.Load(), []sale.Attempt{a})
		if b.note(d, err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (b *buyers) note(d []sale.Decision, err error) (answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, sale.ErrStale):
		b.faults["STALE"]++
	case err != nil && strings.Contains(err.Error(), "refused until its deadline"):
		b.faults["refused"]++
	case err != nil && errors.As(err, new(redis.Error)):
		b.faults["answered "+err.Error()]++
	case err != nil:
		b.faults["lost"]++
	case d[0].Code == sale.DecidedAccepted:
		b.accepted[d[0].Ticket.RID] = d[0].Ticket
		return true
	default:
		b.refused[d[0].Code]++
		return true
	}
	return false
}

func (b *buyers) promised() map[string]sale.Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.accepted)
}

func (b *buyers) count(fault string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for text, times := range b.faults {
		if strings.Contains(text, fault) {
			n += times
		}
	}
	return n
}

// reload makes the next epoch of a sale live with what was promised.
func reload(t *testing.T, c *Client, s sale.Sale, epoch int64, promised map[string]sale.Ticket) {
	t.Helper()
	tickets := slices.SortedFunc(maps.Values(promised), func(a, b sale.Ticket) int { return int(a.Rank - b.Rank) })
	load := make([]LoadTicket, len(tickets))
	rank := int64(0)
	for i, ticket := range tickets {
		load[i], rank = LoadTicket{Ticket: ticket, HoldsSlot: true}, ticket.Rank
	}
	must(t, c.Fence(t.Context(), s.ID, epoch, "token"))
	for page := range slices.Chunk(load, 200) {
		must(t, c.LoadTickets(t.Context(), s.ID, epoch, "token", page))
	}
	e := entry(s)
	e.Epoch = epoch
	n := int64(len(load))
	must(t, c.Flip(t.Context(), "token", Live{Entry: e, Total: s.Total, Stock: s.Total - n, Rank: rank, Accepted: n, Served: n, Unpaid: n}))
}

// wantAccount checks that stock and tickets at an epoch are what the buyers were told, and
// that nobody was told anything else.
func (b *buyers) wantAccount(t *testing.T, epoch int64) {
	t.Helper()
	promised := b.promised()
	snap, _, err := b.client.Snapshot(t.Context(), b.s.ID, epoch)
	must(t, err)
	equal(t, "stock", snap.Stock, b.s.Total-int64(len(promised)))
	found := 0
	must(t, b.client.EachTicket(t.Context(), b.s.ID, epoch, func(ticket sale.Ticket) error {
		if want, known := promised[ticket.RID]; !known || want.UserID != ticket.UserID || want.Rank != ticket.Rank {
			t.Errorf("ticket %+v was answered as %+v", ticket, want)
		}
		found++
		return nil
	}))
	equal(t, "tickets", found, len(promised))
	if len(b.refused) > 0 {
		t.Errorf("buyers were told %v, and there is stock", b.refused)
	}
}

func TestCluster_AFailoverFencesItsSalesAndNoOthers(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, devstack.Options{})
	loader := connectTo(t, Config{URL: cluster.URL(), Timeout: 5 * time.Second})
	patient := connectTo(t, Config{URL: cluster.URL(), Timeout: 10 * time.Second}) // a busy machine is no failure
	quick := connectTo(t, Config{URL: cluster.URL()})
	sales := eachMaster(t, cluster, loader, 1_000_000)
	var lost *buyers
	var dead *devstack.Server
	var others []*buyers
	for at, s := range sales {
		if lost == nil {
			dead, lost = at, buy(t, quick, s, 8)
			continue
		}
		others = append(others, buy(t, patient, s, 4))
	}
	for _, b := range append(others, lost) {
		eventually(t, "every sale sells", func() bool { return len(b.promised()) > 50 })
	}
	before := len(others[0].promised())
	must(t, dead.Kill())
	eventually(t, "a replica has its slots", func() bool { return masterOf(t, cluster, lost.s) != dead })
	eventually(t, "the sale is fenced: another process executes", func() bool {
		_, _, err := quick.Snapshot(t.Context(), lost.s.ID, 1)
		return errors.Is(err, sale.ErrStale)
	})
	eventually(t, "a new master without a replica refuses writes", func() bool { return lost.count("answered cannot run reserve for sale "+lost.s.ID+": NOREPLICAS") > 0 })
	must(t, dead.Restart(t.Context()))
	must(t, cluster.Whole(t.Context()))
	eventually(t, "buyers hear so too", func() bool { return lost.count("STALE") > 0 })
	for _, b := range others {
		b.end()
		if len(b.faults) > 0 || len(b.promised()) <= before {
			t.Errorf("sale %s of another shard: %v, %d sold", b.s.ID, b.faults, len(b.promised()))
		}
		b.wantAccount(t, 1)
	}

	promised := lost.promised()
	reload(t, loader, lost.s, 2, promised)
	lost.epoch.Store(2)
	eventually(t, "it sells again", func() bool { return len(lost.promised()) > len(promised)+50 })
	lost.end()
	lost.wantAccount(t, 2)
}

func TestCluster_ASlotThatMovesIsRefusedUntilItHasMoved(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, devstack.Options{})
	c := connectTo(t, Config{URL: cluster.URL(), Timeout: 500 * time.Millisecond})
	loader := connectTo(t, Config{URL: cluster.URL(), Timeout: 5 * time.Second})
	rounds := 1
	if devstack.Long() {
		rounds = 20
	}
	for range rounds {
		sales := slices.Collect(maps.Values(eachMaster(t, cluster, loader, 1_000_000)))
		b, to := buy(t, c, sales[0], 8), masterOf(t, cluster, sales[1])
		eventually(t, "it sells", func() bool { return len(b.promised()) > 50 })
		halfway := 0
		must(t, cluster.MoveSlot(t.Context(), keys(b.s.ID, 1)[0], to, func() {
			halfway = len(b.promised())
			eventually(t, "calls are refused meanwhile", func() bool { return b.count("refused") > 8 })
			equal(t, "accepted meanwhile", len(b.promised()), halfway)
		}))
		eventually(t, "the sale is fenced where it is now", func() bool { return b.count("STALE") > 0 })
		equal(t, "master", masterOf(t, cluster, b.s), to)
		promised := b.promised()
		moved := 0
		must(t, loader.EachTicket(t.Context(), b.s.ID, 1, func(sale.Ticket) error {
			moved++
			return nil
		}))
		if unanswered := moved - len(promised); unanswered < 0 || unanswered > b.count("lost") {
			t.Errorf("%d tickets moved, %d were answered, %d replies lost", moved, len(promised), b.count("lost"))
		}
		reload(t, loader, b.s, 2, promised)
		b.epoch.Store(2)
		eventually(t, "it sells again", func() bool { return len(b.promised()) > len(promised)+50 })
		b.end()
		b.wantAccount(t, 2)
		for fault := range b.faults {
			if strings.HasPrefix(fault, "answered") {
				t.Errorf("buyers met %s", fault)
			}
		}
	}
}

func TestCluster_ASilentShardHoldsUpNoLoop(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, devstack.Options{RedisArgs: []string{"--cluster-node-timeout", "60000"}}) // nobody takes over
	c := connectTo(t, Config{URL: cluster.URL(), Timeout: time.Second})
	sales := eachMaster(t, cluster, connectTo(t, Config{URL: cluster.URL(), Timeout: 5 * time.Second}), 5)
	silent := slices.Collect(maps.Keys(sales))[0]
	must(t, c.PingShards(t.Context()))
	must(t, syscall.Kill(silent.PID(), syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(silent.PID(), syscall.SIGCONT) })
	start := time.Now()
	var looks errgroup.Group
	looks.SetLimit(8)
	for range 200 { // 27 s if each waited for the server
		looks.Go(func() error {
			if _, _, err := c.Snapshot(t.Context(), sales[silent].ID, 1); err == nil || errors.Is(err, sale.ErrStale) {
				return fmt.Errorf("a stopped server answers: %w", err)
			}
			return nil
		})
	}
	for at, s := range sales {
		if at != silent {
			looks.Go(func() error {
				_, _, err := c.Snapshot(t.Context(), s.ID, 1)
				return err
			})
		}
	}
	must(t, looks.Wait())
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("a round took %v", took)
	}
	must(t, c.Ping(t.Context())) // two of three answer
	if err := c.PingShards(t.Context()); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(strings.TrimPrefix(silent.URL(), "redis://"), "/0")) {
		t.Errorf("the silent one is not named: %v", err)
	}
	_, err := c.Time(t.Context())
	must(t, errors.Join(err, c.LoadScripts(t.Context()), c.Dialled(t.Context())))
	must(t, syscall.Kill(silent.PID(), syscall.SIGCONT))
	eventually(t, "it is asked again", func() bool {
		_, _, err := c.Snapshot(t.Context(), sales[silent].ID, 1)
		return err == nil
	})
	must(t, c.PingShards(t.Context()))
}

func TestSentinel_AFailoverFencesTheSale(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	r, err := devstack.StartRedisSentinel(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	c := connectTo(t, Config{URL: r.URL()})
	loader := connectTo(t, Config{URL: r.URL(), Timeout: 5 * time.Second})
	s := newLoadedSale(t, loader, 1_000_000)
	b := buy(t, c, s, 8)
	eventually(t, "it sells", func() bool { return len(b.promised()) > 50 })
	old, err := r.Master(t.Context())
	must(t, err)
	must(t, old.Kill())
	eventually(t, "the sale is fenced: another process executes", func() bool {
		_, _, err := c.Snapshot(t.Context(), s.ID, 1)
		return errors.Is(err, sale.ErrStale)
	})
	must(t, old.Restart(t.Context()))
	must(t, r.Whole(t.Context()))
	eventually(t, "buyers hear so too", func() bool { return b.count("STALE") > 0 })
	promised := b.promised()
	reload(t, loader, s, 2, promised)
	b.epoch.Store(2)
	eventually(t, "it sells again", func() bool { return len(b.promised()) > len(promised)+50 })
	b.end()
	b.wantAccount(t, 2)
	all, err := c.Settings(t.Context())
	must(t, err)
	equal(t, "masters", len(all), 1)
	equal(t, "replicas", all[0].Replicas, 1)
}
