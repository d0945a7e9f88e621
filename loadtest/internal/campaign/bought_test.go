package campaign

import (
	"strings"
	"testing"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

func TestNothingBought_IsSaidWithItsReason(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string]map[string]int{
		"423 attempts were answered with the ticket of one before": {"in_stock.replay": 423, "sold_out.sold_out": 577},
		"1000 of 1000 attempts were refused as unauthenticated":    {"in_stock.unauthenticated": 1000},
		"most of 1000 attempts, 900, were answered too_many":       {"in_stock.too_many": 500, "early.too_many": 400, "in_stock.replay": 100},
		"most of 1000 attempts, 1000, were answered sold_out":      {"sold_out.sold_out": 1000},
	} {
		words := strings.Join(Outcome{Sent: 1000, Counts: counts}.nothingBought(), "")
		if !strings.HasPrefix(words, "NOTHING WAS BOUGHT: ") || !strings.Contains(words, want) {
			t.Errorf("%v: %q lacks %q", counts, words, want)
		}
	}
	if words := (Outcome{Sent: 2, Counts: map[string]int{"in_stock.accepted": 1, "in_stock.replay": 1}}).nothingBought(); words != nil {
		t.Errorf("of a unit that was bought: %q", words)
	}
}

func TestLimitedBy_NamesTheLimitThatTheGatewaysCounted(t *testing.T) {
	t.Parallel()
	refused := func(n int64) report.Layer { return report.Layer{Exits: map[string]int64{"too_many": n}} }
	got := strings.Join(limitedBy(map[string]report.Layer{"address": refused(4600), "user": refused(7), "admission": {}}), "\n")
	if !strings.Contains(got, "4600 attempts were refused by the gateways' limit of an address") || !strings.Contains(got, "-address-rate 0") || !strings.Contains(got, "7 attempts") {
		t.Errorf("%q", got)
	}
	if got := limitedBy(map[string]report.Layer{"address": refused(0)}); got != nil {
		t.Errorf("of none: %q", got)
	}
}

func TestRemote_IsWhatIsNotLoopback(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]bool{
		"http://127.0.0.1:80": {false, false}, "http://[::1]:80": {false, false}, "https://localhost": {false, true},
		"http://10.0.0.7:80": {true, false}, "https://shop.example": {true, true},
	} {
		info := stack.Info{Gateways: []stack.GatewayInfo{{URL: url}}}
		if remote(info) != want[0] || overTLS(info) != want[1] {
			t.Errorf("%s: remote %t, TLS %t", url, remote(info), overTLS(info))
		}
	}
}
