package calibrate

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecommend_FourFifthsForEachGateway(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		capacity Capacity
		command  string
	}{
		"one sale, two gateways":                 {Capacity{6000, 6000, 2, 100 * ms, 20 * ms}, "gateway -admit-rate 2400 -admit-sale-rate 2400 -admit-wait 40ms -reserve-line 512"},
		"many sales":                             {Capacity{6000, 3000, 2, 100 * ms, 20 * ms}, "gateway -admit-rate 2400 -admit-sale-rate 1200 -admit-wait 40ms -reserve-line 512"},
		"rounded down":                           {Capacity{4321, 4321, 1, 100 * ms, 20 * ms}, "gateway -admit-rate 3450 -admit-sale-rate 3450 -admit-wait 40ms -reserve-line 512"},
		"how calm it is below is not known":      {Capacity{1000, 1000, 1, 100 * ms, 0}, "gateway -admit-rate 800 -admit-sale-rate 800 -admit-wait 25ms -reserve-line 512"},
		"nothing left for a wait":                {Capacity{1000, 1000, 1, 100 * ms, 100 * ms}, "gateway -admit-rate 800 -admit-sale-rate 800 -admit-wait 0s -reserve-line 512"},
		"no longer wait than by default":         {Capacity{1000, 1000, 1, time.Second, 20 * ms}, "gateway -admit-rate 800 -admit-sale-rate 800 -admit-wait 200ms -reserve-line 800"},
		"a fast gateway has a longer line":       {Capacity{20_000, 20_000, 1, 100 * ms, 20 * ms}, "gateway -admit-rate 16000 -admit-sale-rate 16000 -admit-wait 40ms -reserve-line 1600"},
		"a machine that bears next to nothing":   {Capacity{1, 1, 2, 100 * ms, 20 * ms}, "gateway -admit-rate 0.4 -admit-sale-rate 0.4 -admit-wait 40ms -reserve-line 512"},
		"a rate is a flag that can be typed":     {Capacity{2_000_000, 2_000_000, 1, 100 * ms, 20 * ms}, "gateway -admit-rate 1600000 -admit-sale-rate 1600000 -admit-wait 40ms -reserve-line 160000"},
		"the busiest sale has nearly everything": {Capacity{1000, 999, 1, 100 * ms, 20 * ms}, "gateway -admit-rate 800 -admit-sale-rate 799 -admit-wait 40ms -reserve-line 512"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Recommend(c.capacity).Command(); got != c.command {
				t.Errorf("%s,\nwant %s", got, c.command)
			}
		})
	}
}

func TestLimits_EachGatewaySavesOneAttemptAtLeast(t *testing.T) {
	t.Parallel()
	if head := (Limits{Gateways: 2, Rate: 4}).head(); head != 2 {
		t.Errorf("%v", head)
	}
}

func TestLimits_EnvironmentSaysWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	l := Limits{Gateways: 2, Rate: 2400, SaleRate: 1200, Wait: 40 * time.Millisecond, Line: 512}
	want := []string{"SLUICE_ADMIT_RATE=2400", "SLUICE_ADMIT_SALE_RATE=1200", "SLUICE_ADMIT_WAIT=40ms", "SLUICE_RESERVE_LINE=512"}
	if got := l.Env(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The arithmetic of who is refused, beside a count of attempt after attempt at a token
// bucket such as admission is.
func TestLimits_BusyIsWhatATokenBucketRefuses(t *testing.T) {
	t.Parallel()
	l := Limits{Gateways: 1, Rate: 800, SaleRate: 800, Wait: 40 * time.Millisecond}
	for _, perSecond := range []float64{500, 800, 810, 1000, 1600, 8000} {
		const lasts = 5 * time.Second
		refused, first := bucket(l, perSecond, lasts)
		if want := l.Busy(perSecond, lasts); math.Abs(refused-want) > 0.01 {
			t.Errorf("at %v a second %.3f are refused, said %.3f", perSecond, refused, want)
		}
		begins, ever := l.Begins(perSecond)
		if ever && begins < lasts != (first >= 0) || ever && first >= 0 && (first-begins).Abs() > 20*time.Millisecond {
			t.Errorf("at %v a second the first is refused after %s, said %s, %v", perSecond, first, begins, ever)
		}
	}
}

// bucket sends attempts at one rate through a bucket that begins full, and says what part
// of them is refused, and when the first is; −1 if none is.
func bucket(l Limits, perSecond float64, lasts time.Duration) (refused float64, first time.Duration) {
	tokens, n, last := l.Rate*saved.Seconds(), 0, 0.0
	first = -1
	attempts := int(perSecond * lasts.Seconds())
	for i := range attempts {
		now := float64(i) / perSecond
		tokens, last = min(l.Rate*saved.Seconds(), tokens+(now-last)*l.Rate), now
		if (1-tokens)/l.Rate > l.Wait.Seconds() {
			if n++; n == 1 {
				first = seconds(now)
			}
			continue
		}
		tokens--
	}
	return float64(n) / float64(attempts), first
}

func TestLimits_ACrowdIsThroughAfterAsLongAsItsTurnsTake(t *testing.T) {
	t.Parallel()
	l := Limits{Gateways: 2, Rate: 500, Wait: 100 * time.Millisecond} // 200 at once, then 1000 a second
	for crowd, want := range map[float64]time.Duration{100: 0, 200: 0, 1200: time.Second, 100_200: 100 * time.Second} {
		if got := l.Through(crowd); got != want {
			t.Errorf("%v buyers: %s, want %s", crowd, got, want)
		}
	}
}

func TestWords_SayWhatWasFoundAndNoMore(t *testing.T) {
	t.Parallel()
	c := Capacity{Admission: 4800, OneSale: 4800, Gateways: 2, Target: 100 * time.Millisecond}
	for name, w := range map[string]struct {
		found Found
		says  []string
	}{
		"found":         {Found{4800, 5000, Fails, true}, []string{"At 4,800 attempts a second p99 of in-stock attempts stayed under 100ms", "at 5,000 it did not."}},
		"the tool":      {Found{4800, 5000, Unclear, true}, []string{"at 5,000 it is unclear whether the server, the tool or what else"}},
		"no upper end":  {Found{4800, 0, Unknown, true}, []string{"the highest rate that was to be tried (-most), so the limit was not found"}},
		"stopped":       {Found{4800, 9600, Fails, false}, []string{"at 9,600 it did not; the search was ended"}},
		"none":          {Found{0, 100, Fails, true}, []string{"No rate passed: the server kept neither at 100"}},
		"not even sent": {Found{0, 100, Unclear, true}, []string{"whether the server, the tool or the machine was the limit is unclear at 100"}},
		"nothing":       {Found{}, []string{"No rate was decided"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Join(Summary(w.found, c), "\n")
			for _, part := range w.says {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in:\n%s", part, text)
				}
			}
		})
	}
}

func TestWords_TellWhoIsRefusedWhenAndForHowLong(t *testing.T) {
	t.Parallel()
	l := Recommend(Capacity{Admission: 6000, OneSale: 6000, Gateways: 2, Target: 100 * time.Millisecond, Calm: 20 * time.Millisecond})
	text := strings.Join(l.Refusals(), "\n")
	for _, part := range []string{
		"gateway -admit-rate 2400", "4,800 attempts a second reach Redis through 2 gateways", "from 140 ms after", "Retry-After: 1",
		"672 are let through", "a lottery", "1.9 s for 10,000, 21 s for 100,000 and 3.5 min for 1,000,000", "tries up to 8 times within 18 s to 22 s", "tickets/me", "sold out", "Not limited by them", "Limited like first attempts",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
