package devstack

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func startCluster(t *testing.T, o Options) *RedisCluster {
	t.Helper()
	c, err := StartRedisCluster(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func masterOf(t *testing.T, c *RedisCluster, key string) *Server {
	t.Helper()
	s, err := c.MasterOf(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// command sends one as a client of the cluster does, and follows redirects.
func command(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	out, err := redisCommand(t.Context(), s, append([]string{"-c"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRedisCluster_AKilledMasterIsReplacedAndComesBackAsReplica(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	dir := t.TempDir()
	c := startCluster(t, Options{Dir: dir})
	for i := range 20 {
		command(t, c.servers[0], "SET", fmt.Sprint("key-", i), strconv.Itoa(i))
	}
	if n := len(strings.Split(c.URL(), ",")); n != 6 {
		t.Errorf("%s names %d servers", c.URL(), n)
	}
	old := masterOf(t, c, "key-1")
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a replica takes over", func() bool { return masterOf(t, c, "key-1") != old })
	if err := old.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := masterOf(t, c, "key-1"); now == old {
		t.Error("the old master is master again")
	}
	for i := range 20 {
		if got := command(t, old, "GET", fmt.Sprint("key-", i)); !strings.HasSuffix(got, strconv.Itoa(i)) {
			t.Errorf("key-%d = %q", i, got)
		}
	}
}

func TestRedisCluster_ASlotMovesWithItsKeys(t *testing.T) {
	t.Parallel()
	c := RedisClusterForTest(t)
	from := masterOf(t, c, "{moving}")
	for i := range 250 {
		command(t, from, "SET", fmt.Sprint("{moving}", i), "here")
	}
	to := masterOf(t, c, "another")
	for i := 0; to == from; i++ {
		to = masterOf(t, c, fmt.Sprint("another-", i))
	}
	split := false
	if err := c.MoveSlot(t.Context(), "{moving}", to, func() {
		slot, err := slotOf(t.Context(), to, "{moving}")
		if err != nil {
			t.Error(err)
		}
		split = command(t, to, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)) == "2" &&
			command(t, from, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)) == "248"
	}); err != nil {
		t.Fatal(err)
	}
	if !split {
		t.Error("the keys were not on both servers halfway")
	}
	if now := masterOf(t, c, "{moving}"); now != to {
		t.Errorf("%s has the slot", now.URL())
	}
	if got := command(t, to, "GET", "{moving}249"); got != "here" {
		t.Errorf("the last key is %q", got)
	}
}

func TestRedisCluster_CloseLeavesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	dir := t.TempDir()
	c, err := StartRedisCluster(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for _, s := range c.servers {
		addrs = append(addrs, s.port.Addr(), s.also[0].Addr())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if answers(addr) {
			t.Errorf("%s still answers", addr)
		}
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRedisSentinel_AKilledMasterIsReplaced(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	r, err := StartRedisSentinel(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	old, err := r.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command(t, old, "SET", "key", "kept")
	if err := r.Whole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica takes over", func() bool {
		now, err := r.Master(t.Context())
		return err == nil && now != old
	})
	now, err := r.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := command(t, now, "GET", "key"); got != "kept" {
		t.Errorf("the new master has %q", got)
	}
	if err := old.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Whole(t.Context()); err != nil { // it is the new one's replica by then
		t.Fatal(err)
	}
}
