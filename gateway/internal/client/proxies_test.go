package client

import (
	"net/netip"
	"strings"
	"testing"
)

func trusting(t testing.TB, text string) Proxies {
	t.Helper()
	var p Proxies
	if err := p.Set(text); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProxies_AreNetworksAndAddresses(t *testing.T) {
	t.Parallel()
	p := trusting(t, "10.0.0.0/8, 192.0.2.1,,2001:db8::/32,::ffff:198.51.100.0/120")
	if got := p.String(); got != "10.0.0.0/8,192.0.2.1/32,2001:db8::/32,198.51.100.0/24" {
		t.Errorf("read as %s", got)
	}
	for address, want := range map[string]bool{
		"10.1.2.3": true, "11.0.0.0": false, "192.0.2.1": true, "192.0.2.2": false, "2001:db8::1": true, "2001:db9::1": false,
		"::ffff:10.1.2.3": true, "198.51.100.7": true, "::ffff:198.51.101.7": false, "2001:db8::1%eth0": true, "::1": false,
	} {
		if got := p.Trusts(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: trusted %v", address, got)
		}
	}
	if p.Trusts(netip.Addr{}) || (Proxies)(nil).Trusts(netip.MustParseAddr("10.0.0.1")) {
		t.Error("no address, or an address without proxies, is trusted")
	}
	if err := p.Set(""); err != nil || len(p) != 0 {
		t.Errorf("set anew to %v, %v", p, err)
	}
}

func TestProxies_WhatWouldTrustTooManyIsRefusedByName(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"10.0.0.0/8,proxy":         `"proxy"`,
		"10.0.0.1/8":               "10.0.0.0/8",
		"10.0.0.0/33":              "10.0.0.0/33",
		"fe80::1%eth0":             "fe80::1%eth0",
		"0.0.0.0/0":                "everybody",
		"::/0":                     "everybody",
		"::/64":                    "everybody",
		"::ffff:0.0.0.0/96":        "everybody",
		"10.0.0.0/8;10.1.0.0/16":   "10.0.0.0/8;",
		"127.0.0.1:80":             "127.0.0.1:80",
		strings.Repeat("::1,", 65): "at most 64",
	} {
		var p Proxies
		if err := p.Set(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40s: %v, want %s", text, err, why)
		}
	}
}

func TestClientOf_IsTheNearestThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	p := trusting(t, "10.0.0.0/8,2001:db8::/32")
	for _, c := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"no header", "192.0.2.1", nil, "192.0.2.1"},
		{"a stranger's header", "192.0.2.1", []string{"203.0.113.9"}, "192.0.2.1"},
		{"a proxy without header", "10.0.0.1", nil, "10.0.0.1"},
		{"one hop", "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"what the client says of itself", "10.0.0.1", []string{"127.0.0.1, 203.0.113.9"}, "203.0.113.9"},
		{"two proxies", "10.0.0.1", []string{"1.1.1.1, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"two headers are one list", "10.0.0.1", []string{"1.1.1.1", "203.0.113.9,10.0.0.2"}, "203.0.113.9"},
		{"an unreadable hop", "10.0.0.1", []string{"203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"an unreadable last hop", "10.0.0.1", []string{"203.0.113.9, _hidden"}, "10.0.0.1"},
		{"all trusted", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"empty elements", "10.0.0.1", []string{" , 203.0.113.9 ,,", "", "\t"}, "203.0.113.9"},
		{"ports", "10.0.0.1", []string{"203.0.113.9:1234, 10.0.0.2:80"}, "203.0.113.9"},
		{"IPv6", "2001:db8::1", []string{"2001:db9::7"}, "2001:db9::7"},
		{"IPv6 in brackets", "10.0.0.1", []string{"[2001:db9::7]"}, "2001:db9::7"},
		{"IPv6 with port", "10.0.0.1", []string{"[2001:db9::7]:443"}, "2001:db9::7"},
		{"IPv4 in brackets", "10.0.0.1", []string{"[203.0.113.9]"}, "10.0.0.1"},
		{"IPv4 as IPv6", "::ffff:10.0.0.1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"an interface's name", "10.0.0.1", []string{"fe80::7%eth0"}, "fe80::7"},
		{"leading zeros", "10.0.0.1", []string{"203.0.113.09"}, "10.0.0.1"},
		{"another separator", "10.0.0.1", []string{"203.0.113.9; 203.0.113.8"}, "10.0.0.1"},
	} {
		if got := p.ClientOf(netip.MustParseAddr(c.remote), c.forwarded); got != netip.MustParseAddr(c.want) {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestNetwork_OfAnIPv6ClientIsItsSlash64(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"2001:db8:0:1:2:3:4:5": "2001:db8:0:1::", "192.0.2.9": "192.0.2.9", "::ffff:192.0.2.9": "192.0.2.9", "fe80::1%eth0": "fe80::",
	} {
		if got := Network(netip.MustParseAddr(address)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, want %s", address, got, want)
		}
	}
	if got := Network(netip.Addr{}); got.IsValid() {
		t.Errorf("of no address: %v", got)
	}
}
