package connections

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// peer is the server's end of a connection that is from wherever a test says.
type peer struct {
	net.Conn
	from   netip.AddrPort
	closed bool
}

func (p *peer) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(p.from) }
func (p *peer) Close() error         { p.closed = true; return nil }

func of(address string) *peer {
	return &peer{from: netip.AddrPortFrom(netip.MustParseAddr(address), 4711)}
}

const full, tooMany = "full", "too many"

// newPlaces counts the IPv6 addresses of a /64 for one client, and has no bound for 10.0.0.0/8.
func newPlaces(most, perAddress int) *Places {
	return New(Config{Most: most, PerAddress: perAddress, Full: []byte(full), TooMany: []byte(tooMany), Client: func(a netip.Addr) netip.Addr {
		if a = a.Unmap(); a.Is6() {
			return netip.PrefixFrom(a, 64).Masked().Addr()
		}
		if netip.MustParsePrefix("10.0.0.0/8").Contains(a) {
			return netip.Addr{}
		}
		return a
	}}, prometheus.NewRegistry())
}

func TestPlaces_OfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	p, now := newPlaces(100, 2), time.Now()
	first, _ := p.admit(of("192.0.2.1"), now)
	for _, c := range []struct{ address, refused string }{
		{"192.0.2.1", ""}, {"192.0.2.1", tooMany}, {"::ffff:192.0.2.1", tooMany}, {"192.0.2.2", ""},
		{"2001:db8::1", ""}, {"2001:db8::2", ""}, {"2001:db8::3", tooMany}, {"2001:db8:0:1::1", ""},
		{"10.0.0.1", ""}, {"10.0.0.1", ""}, {"10.0.0.1", ""},
	} {
		if _, refused := p.admit(of(c.address), now); string(refused) != c.refused {
			t.Errorf("%s: %q, want %q", c.address, refused, c.refused)
		}
	}
	_ = first.Close()
	_ = first.Close() // frees one place
	if _, refused := p.admit(of("192.0.2.1"), now); refused != nil {
		t.Errorf("after one left: %s", refused)
	}
	if _, refused := p.admit(of("192.0.2.1"), now); string(refused) != tooMany {
		t.Errorf("a place was freed twice: %s", refused)
	}
	if got := testutil.ToFloat64(p.tooMany); got != 4 {
		t.Errorf("%v counted as refused", got)
	}
}

func TestPlaces_KeepNothingOfWhoIsGone(t *testing.T) {
	t.Parallel()
	p, now := newPlaces(100, 2), time.Now()
	var conns []*Conn
	for range 3 {
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
			if c, _ := p.admit(of(address), now); c != nil {
				conns = append(conns, c)
			}
		}
	}
	for _, i := range []int{3, 0, 5, 2, 4, 1} {
		_ = conns[i].Close()
	}
	if len(conns) != 6 || p.Taken() != 0 || len(p.addresses) != 0 {
		t.Errorf("%d had places, %d have, addresses %v", len(conns), p.Taken(), p.addresses)
	}
}

func TestPlaces_WhoIsAwaitedForLongestMakesRoom(t *testing.T) {
	t.Parallel()
	p, now := newPlaces(3, 0), time.Now()
	silent, answered, busy := of("192.0.2.1"), of("192.0.2.2"), of("192.0.2.3")
	_, _ = p.admit(silent, now.Add(-4*time.Second))
	idle, _ := p.admit(answered, now.Add(-10*time.Second))
	asking, _ := p.admit(busy, now.Add(-20*time.Second))
	idle.awaited.Store(now.Add(-2 * time.Second).UnixNano())
	_ = asking.Answering()
	for i, want := range []*peer{silent, answered} {
		if c, _ := p.admit(of("192.0.2.4"), now); c == nil {
			t.Fatalf("newcomer %d finds no place", i)
		}
		if !want.closed || busy.closed {
			t.Errorf("newcomer %d: silent %v, answered %v, busy %v", i, silent.closed, answered.closed, busy.closed)
		}
	}
	if idle.Answering() || !asking.Answering() {
		t.Error("a request is answered on a connection that was cut, or not on one that was not")
	}
	if _, refused := p.admit(of("192.0.2.5"), now); string(refused) != full {
		t.Errorf("nobody is awaited for long, and a newcomer gets %q", refused)
	}
	if p.Taken() != 3 || testutil.ToFloat64(p.full) != 1 || testutil.ToFloat64(p.cut) != 2 {
		t.Errorf("%d places, %v refused, %v cut", p.Taken(), testutil.ToFloat64(p.full), testutil.ToFloat64(p.cut))
	}
}

func TestListener_AnswersWhomItRefuses(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlaces(1, 0)
	l := p.Listen(inner)
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil { // keeps the one connection that has a place
			_, err = l.Accept()
		}
		ended <- err
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		return conn
	}
	dial()
	for end := time.Now().Add(30 * time.Second); p.Taken() == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	asks := dial()
	if _, err := io.WriteString(asks, strings.Repeat("x", 4<<10)); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]net.Conn{"asks": asks, "says nothing": dial()} {
		if got, err := io.ReadAll(conn); string(got) != full || err != nil {
			t.Errorf("who %s is answered %q, %v", name, got, err)
		}
	}
	_ = inner.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	p.Wait()
}
