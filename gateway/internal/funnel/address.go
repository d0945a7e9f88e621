package funnel

import (
	"net/netip"
	"time"

	"sluice/gateway/internal/client"
)

// AddressLimit bounds what one client address may attempt. The nil limit lets
// everybody through.
type AddressLimit struct{ *limit[netip.Addr] }

// NewAddressLimit builds the limit; nil when it is off. The configuration must
// have passed Check.
func NewAddressLimit(c LimitConfig) (*AddressLimit, error) {
	l, err := newLimit[netip.Addr](c)
	if l == nil {
		return nil, err
	}
	return &AddressLimit{l}, nil
}

// Allow takes one attempt out of the address's bucket; if it is empty, retry is
// how long until it is not. An IPv6 client is its /64: it may own every address
// of it.
func (l *AddressLimit) Allow(address netip.Addr, now time.Time) (retry time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	return l.allow(client.Network(address), now)
}
