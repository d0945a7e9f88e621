package funnel

import (
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

func newUserLimit(t *testing.T, c LimitConfig) *UserLimit {
	t.Helper()
	c.Name = "user"
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	l, err := NewUserLimit(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestUserLimit_IsOfTheUserAlone(t *testing.T) {
	t.Parallel()
	l := newUserLimit(t, LimitConfig{Rate: 4, Burst: 2, Clients: 1000})
	now := time.Now()
	for range 2 {
		if _, ok := l.Allow("ada", now); !ok {
			t.Fatal("refused within the burst")
		}
	}
	retry, ok := l.Allow("ada", now)
	if ok || retry != 250*time.Millisecond {
		t.Errorf("third attempt: %v, retry after %v", ok, retry)
	}
	if _, ok := l.Allow("Ada", now); !ok {
		t.Error("another user pays")
	}
	if _, ok := l.Allow("ada", now.Add(retry)); !ok {
		t.Error("refused after Retry-After")
	}
	if got := l.Policy(); got != `"user";q=2;w=1` {
		t.Errorf("policy %s", got)
	}
	var off *UserLimit
	if _, ok := off.Allow("ada", now); !ok {
		t.Error("refused by a limit that is off")
	}
}

// Whoever keeps sending stays remembered, however many others come and go.
func TestUserLimit_HoldsForThoseWhoKeepSending(t *testing.T) {
	t.Parallel()
	l := newUserLimit(t, LimitConfig{Rate: 0.001, Burst: 1, Clients: 6400})
	now := time.Now()
	l.Allow("ada", now)
	others := make([]byte, 8)
	for i := range 100_000 {
		for k := range others {
			others[k] = byte('a' + i>>(2*k)&0xf)
		}
		l.Allow(string(others), now)
		if i%1000 == 0 { // of a shard's hundred about a sixth are others' by then
			if _, ok := l.Allow("ada", now); ok {
				t.Fatalf("forgotten after %d others", i)
			}
		}
	}
}

// Not parallel: it measures the whole process's memory.
func TestUserLimit_MemoryDoesNotGrowWithUsersNorTheirNames(t *testing.T) {
	long := strings.Repeat("界", 120)
	grown := func(prefix string) int64 {
		l := newUserLimit(t, LimitConfig{Rate: 1, Burst: 1, Clients: 10_000})
		before, now := heap(), time.Now()
		for i := range 100_000 {
			l.Allow(prefix+string(rune('一'+i%20_000))+string(rune('一'+i/20_000)), now)
		}
		after := heap() - before
		l.Allow(prefix, now)
		return after
	}
	short, named := grown(""), grown(long)
	if named > short+1<<20 || short > 10_000*512 {
		t.Errorf("10,000 users take %d bytes, with long names %d", short, named)
	}
}

func TestLimitConfig_ErrorsNameTheFlag(t *testing.T) {
	t.Parallel()
	for flag, c := range map[string]LimitConfig{
		"-user-rate":       {Name: "user", Rate: -1},
		"-user-burst":      {Name: "user", Rate: 1, Clients: 1000},
		"-user-clients":    {Name: "user", Rate: 1, Burst: 1, Clients: 63},
		"-address-clients": {Name: "address", Rate: 1, Burst: 1, Clients: 50_000_001},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), flag+" ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestAttempt_OverTheUsersLimitLeavesBeforeEligibility(t *testing.T) {
	t.Parallel()
	r := newRig(10, func(_ *Config, s *sale.Sale) { s.Eligibility.MinPaidOrders = 1 })
	r.funnel.users = newUserLimit(t, LimitConfig{Rate: 0.1, Burst: 1, Clients: 1000})
	if got := r.funnel.Attempt(r.sale, Requester{Token: "ada"}, ""); got.Outcome != sale.NotEligible {
		t.Errorf("first: %+v", got)
	}
	got := r.funnel.Attempt(r.sale, Requester{Token: "ada"}, "")
	if got.Outcome != sale.TooMany || got.Layer != sale.LayerUser || got.RetryAfter < 9*time.Second || got.RetryAfter > 10*time.Second {
		t.Errorf("second: %+v", got)
	}
	if got := r.funnel.Attempt(r.sale, Requester{Token: ""}, ""); got.Outcome != sale.Unauthenticated {
		t.Errorf("without a token: %+v", got)
	}
}
