package client

import (
	"fmt"
	"net/netip"
	"strings"
)

// Proxies are the networks whose addresses are believed about whom they forward;
// none are trusted by default. They are a flag.Value.
type Proxies []netip.Prefix

// mostProxies bounds what every request is compared with.
const mostProxies = 64

// Set reads networks and addresses, separated by commas. It replaces what was set.
func (p *Proxies) Set(text string) error {
	var all Proxies
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		network, err := parseNetwork(part)
		if err != nil {
			return err
		}
		all = append(all, network)
	}
	if len(all) > mostProxies {
		return fmt.Errorf("there are %d networks, at most %d can be trusted", len(all), mostProxies)
	}
	*p = all
	return nil
}

// String is what Set reads.
func (p Proxies) String() string {
	all := make([]string, len(p))
	for i, network := range p {
		all[i] = network.String()
	}
	return strings.Join(all, ",")
}

func parseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		address, bad := netip.ParseAddr(text)
		if bad != nil || address.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		network = netip.PrefixFrom(address, address.BitLen())
	}
	if network.Addr().Is4In6() && network.Bits() >= v4InV6 {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-v4InV6)
	}
	switch {
	case network != network.Masked():
		return netip.Prefix{}, fmt.Errorf("%s has bits behind its length; the network is %s", text, network.Masked())
	case network.Bits() == 0 || network.Addr().Is4In6() || network.Contains(v4AsV6) && network.Bits() < v4InV6:
		return netip.Prefix{}, fmt.Errorf("%s would trust everybody", text)
	}
	return network, nil
}

// v4InV6 is how many bits stand before an IPv4 address that is written as an IPv6 one.
const v4InV6 = 96

var v4AsV6 = netip.MustParseAddr("::ffff:0.0.0.0")

// Trusts reports whether the address is one of a trusted proxy.
func (p Proxies) Trusts(address netip.Addr) bool {
	address = plain(address)
	for _, network := range p {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// plain is an address in its one spelling: IPv4 as such, without an interface's name.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
