package funnel

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

func newAddressLimit(t *testing.T, c LimitConfig) *AddressLimit {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	l, err := NewAddressLimit(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAddressLimit_BurstThenRate(t *testing.T) {
	t.Parallel()
	l := newAddressLimit(t, LimitConfig{Name: "address", Rate: 2, Burst: 5, Clients: 1000})
	now := time.Now()
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range 5 {
		if _, ok := l.Allow(a, now); !ok {
			t.Fatalf("attempt %d of the burst refused", i+1)
		}
	}
	retry, ok := l.Allow(a, now)
	if ok || retry != 500*time.Millisecond {
		t.Errorf("sixth attempt: %v, retry after %v", ok, retry)
	}
	if _, ok := l.Allow(b, now); !ok {
		t.Error("another address pays for the first")
	}
	if _, ok := l.Allow(a, now.Add(retry)); !ok {
		t.Error("refused after Retry-After")
	}
	if got := l.Policy(); got != `"address";q=5;w=2` {
		t.Errorf("policy %s", got)
	}
}

func TestAddressLimit_IPv6ClientIsItsSlash64(t *testing.T) {
	t.Parallel()
	l := newAddressLimit(t, LimitConfig{Name: "address", Rate: 1, Burst: 1, Clients: 1000})
	now := time.Now()
	for address, want := range map[string]bool{"2001:db8::1": true, "2001:db8:0:1::1": true} {
		if _, ok := l.Allow(netip.MustParseAddr(address), now); ok != want {
			t.Errorf("%s: %v", address, ok)
		}
	}
	if _, ok := l.Allow(netip.MustParseAddr("2001:db8::ffff"), now); ok {
		t.Error("another address of the same /64 has a bucket of its own")
	}
	l.Allow(netip.MustParseAddr("192.0.2.9"), now)
	if _, ok := l.Allow(netip.MustParseAddr("::ffff:192.0.2.9"), now); ok {
		t.Error("an IPv4 address has two buckets")
	}
}

// Not parallel: it measures the whole process's memory.
func TestAddressLimit_MemoryIsBoundedForAnyNumberOfClients(t *testing.T) {
	l := newAddressLimit(t, LimitConfig{Name: "address", Rate: 1, Burst: 1, Clients: 10_000})
	now := time.Now()
	flood := func(from, to uint32) {
		for i := from; i < to; i++ {
			var address [4]byte
			binary.BigEndian.PutUint32(address[:], i)
			l.Allow(netip.AddrFrom4(address), now)
		}
	}
	flood(0, 50_000)
	before := heap()
	flood(50_000, 300_000)
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("grew by %d bytes over 250,000 further clients", grown)
	}
	runtime.KeepAlive(l)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAddressLimit_AllowOfAKnownClientDoesNotAllocate(t *testing.T) {
	l := newAddressLimit(t, LimitConfig{Name: "address", Rate: 1, Burst: 1, Clients: 1000})
	a, now := netip.MustParseAddr("2001:db8::1"), time.Now()
	l.Allow(a, now)
	if n := testing.AllocsPerRun(100, func() { l.Allow(a, now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
