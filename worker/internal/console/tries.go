package console

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	wrongTokens = 5                // that an address may show at once
	wrongEvery  = 10 * time.Second // for another one
	maxTriers   = 1000             // addresses that are remembered
)

// tries count the wrong tokens that each address has shown.
type tries struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

func newTries() *tries { return &tries{by: map[string]*rate.Limiter{}} }

// attempt reports whether an address may show a token now, and notes a wrong one, in one
// step: of many that come at once no more are looked at than one by one.
func (t *tries) attempt(address string, right bool, now time.Time) (allowed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.by[address]
	switch {
	case l != nil && l.TokensAt(now) < 1:
		return false
	case right:
		return true
	case l == nil:
		l = rate.NewLimiter(rate.Every(wrongEvery), wrongTokens)
		t.forget(now)
		t.by[address] = l
	}
	return l.AllowN(now, 1)
}

// forget makes room: for those who have been quiet, else for any one.
func (t *tries) forget(now time.Time) {
	if len(t.by) < maxTriers {
		return
	}
	for address, l := range t.by {
		if l.TokensAt(now) >= wrongTokens {
			delete(t.by, address)
		}
	}
	for address := range t.by {
		if len(t.by) < maxTriers {
			return
		}
		delete(t.by, address)
	}
}

// addressOf is who connects, without the port. Of IPv6 it is the /64: one client may have
// every address in it.
func addressOf(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := from.Addr().Unmap().WithZone("")
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().String()
	}
	return address.String()
}
