package campaign

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// nothingBought says it, and why, when nobody was accepted: a verdict on no orders says
// little.
func (o Outcome) nothingBought() []string {
	by := o.outcomes()
	if o.Sent == 0 || by[sale.Accepted.String()]+by[sale.Confirmed.String()] > 0 {
		return nil
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(by)), func(a, b string) int { return by[a] - by[b] })
	why := fmt.Sprintf("most of %d attempts, %d, were answered %s", o.Sent, by[most], most)
	switch {
	case by[sale.Unauthenticated.String()] > 0:
		why = fmt.Sprintf("%d of %d attempts were refused as unauthenticated: the secrets of the stack file are not the gateways'", by[sale.Unauthenticated.String()], o.Sent)
	case most == sale.TooMany.String(): // the limits' own words follow
	case by[sale.Replay.String()] > 0:
		why = fmt.Sprintf("%d attempts were answered with the ticket of one before, so everyone who came for units had bought before: use another -seed, or -first", by[sale.Replay.String()])
	}
	return []string{"NOTHING WAS BOUGHT: " + why + ". The verdict says little."}
}

// limitedBy says which of the gateways' limits refused attempts, as the gateways counted.
func limitedBy(funnel map[string]report.Layer) (words []string) {
	refused := func(l sale.Layer) int64 { return funnel[l.String()].Exits[sale.TooMany.String()] }
	if n := refused(sale.LayerAddress); n > 0 {
		words = append(words, fmt.Sprintf("%d attempts were refused by the gateways' limit of an address, and all of them come from one here: set -address-rate 0 (SLUICE_ADDRESS_RATE) on the gateways for the test.", n))
	}
	if n := refused(sale.LayerUser); n > 0 {
		words = append(words, fmt.Sprintf("%d attempts were refused by the gateways' limit of a buyer (-user-rate): the mix's repeats come faster than it lets them.", n))
	}
	return words
}

// remote says that a gateway is reached by more than loopback.
func remote(info stack.Info) bool {
	return slices.ContainsFunc(info.Gateways, func(g stack.GatewayInfo) bool {
		at, err := url.Parse(g.URL)
		if err != nil {
			return false
		}
		address, err := netip.ParseAddr(at.Hostname())
		return err == nil && !address.IsLoopback() || err != nil && at.Hostname() != "localhost"
	})
}

func overTLS(info stack.Info) bool {
	return slices.ContainsFunc(info.Gateways, func(g stack.GatewayInfo) bool { return strings.HasPrefix(g.URL, "https:") })
}
