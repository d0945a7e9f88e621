package client

import (
	"net/netip"
	"strings"
)

// ClientOf is the client of a request that remote sent with these X-Forwarded-For
// headers, in their order: the nearest address that is not a trusted proxy's. What
// cannot be read ends the search at the proxy that wrote it; a request whose whole
// way is trusted is of the farthest address.
func (p Proxies) ClientOf(remote netip.Addr, forwardedFor []string) netip.Addr {
	remote = plain(remote)
	for i := len(forwardedFor) - 1; i >= 0 && p.Trusts(remote); i-- {
		for rest := forwardedFor[i]; rest != "" && p.Trusts(remote); {
			var hop string
			rest, hop = cutLast(rest)
			if hop == "" {
				continue // an empty element of a list is none
			}
			address, ok := parseHop(hop)
			if !ok {
				return remote
			}
			remote = address
		}
	}
	return remote
}

// cutLast splits a list at its last comma.
func cutLast(list string) (rest, last string) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		rest, list = list[:i], list[i+1:]
	}
	return rest, strings.Trim(list, " \t")
}

// parseHop reads an address with or without a port, as proxies write both.
func parseHop(hop string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(hop); err == nil {
		return plain(address), true
	}
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return plain(withPort.Addr()), true
	}
	if inner, ok := strings.CutPrefix(hop, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			address, err := netip.ParseAddr(inner)
			return plain(address), err == nil && address.Is6()
		}
	}
	return netip.Addr{}, false
}

// Network is what of an address is one client: an IPv6 client may own every address
// of its /64.
func Network(address netip.Addr) netip.Addr {
	address = plain(address)
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.Addr()
		}
	}
	return address
}
