package client

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// FuzzForwardedFor holds what makes the header safe: whatever a client sends, it is
// taken for who connected to the first proxy that it could not speak for.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{
		"", "203.0.113.9", "203.0.113.9, 10.0.0.2", "unknown", "10.0.0.3", "[2001:db9::7]:443", ",,", "::ffff:10.0.0.9", "fe80::1%eth0", "\x00", "203.0.113.9:x",
		strings.Repeat("10.0.0.1,", 900), "10.0.0.1\n10.0.0.2",
	} {
		f.Add(seed, "198.51.100.7")
	}
	var p Proxies
	if err := p.Set("10.0.0.0/8"); err != nil {
		f.Fatal(err)
	}
	proxy := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, said, peer string) {
		lines := strings.Split(said, "\n")
		if got := p.ClientOf(proxy, lines); !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("%q is of %v", said, got)
		}
		stranger, err := netip.ParseAddr(peer)
		if err != nil || p.Trusts(stranger) || stranger.Zone() != "" {
			return
		}
		want := stranger.Unmap()
		for name, sent := range map[string][]string{
			"own line":    slices.Concat(lines, []string{stranger.String()}),
			"same line":   {said + ", " + stranger.String()},
			"two proxies": slices.Concat(lines, []string{stranger.String() + ",10.0.0.2"}),
		} {
			if got := p.ClientOf(proxy, sent); got != want {
				t.Errorf("%s: %q is taken for %v, not %v", name, sent, got, want)
			}
		}
		if got := p.ClientOf(stranger, lines); got != want {
			t.Errorf("%v without a proxy is taken for %v by %q", want, got, said)
		}
	})
}
