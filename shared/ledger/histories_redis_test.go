package ledger

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"sluice/shared/devstack"
	"sluice/shared/faultproxy"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// scripts executes calls in Redis. One that fails may have been executed.
type scripts struct {
	t      *testing.T
	client *redisstock.Client
	saleID string
}

func (s *scripts) do(c call) (a answer) {
	var err error
	switch ctx := s.t.Context(); {
	case c.reserve != nil:
		var decisions []sale.Decision
		_, decisions, err = s.client.Reserve(ctx, s.saleID, 1, c.reserve)
		for _, d := range decisions {
			a.decisions = append(a.decisions, decidedBy(d))
		}
	case c.release != nil:
		_, a.released, err = s.client.Release(ctx, s.saleID, 1, c.release)
	default:
		var results []sale.AdjustResult
		_, results, err = s.client.Adjust(ctx, s.saleID, 1, []sale.Adjustment{*c.adjust})
		if err == nil {
			a.adjusted = results[0]
		}
	}
	if err != nil {
		return answer{lost: true}
	}
	return a
}

// unlucky loses the reply of every third call. Its client has a connection of its own
// through the proxy, which is dialled while answers still pass.
type unlucky struct {
	scripts
	proxy *faultproxy.Proxy
	calls int
}

func (u *unlucky) do(c call) answer {
	u.calls++
	if u.calls%3 != 0 || u.client.Ping(u.t.Context()) != nil {
		return u.scripts.do(c)
	}
	u.proxy.LoseReplies()
	defer u.proxy.Heal()
	return u.scripts.do(c)
}

func connect(t *testing.T, url string, timeout time.Duration) *redisstock.Client {
	t.Helper()
	c, err := redisstock.Open(redisstock.Config{URL: url, PoolSize: 1, Timeout: timeout, Wait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// liveSale makes a sale of its own live at epoch 1.
func liveSale(t *testing.T, c *redisstock.Client, s sale.Sale, n int) sale.Sale {
	t.Helper()
	s.ID = fmt.Sprintf("history-%d-%d", os.Getpid(), n)
	if err := c.Fence(t.Context(), s.ID, 1, "token"); err != nil {
		t.Fatal(err)
	}
	if err := c.Flip(t.Context(), "token", sale.Live{Entry: sale.Entry{Sale: s, Epoch: 1, Rev: 1}, Total: s.Total, Stock: s.Total}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHistories_OfTheScriptsAreLinearizable(t *testing.T) {
	t.Parallel()
	rounds := 12
	if devstack.Long() {
		rounds = 500
	}
	url := devstack.RedisForTest(t).URL()
	steady := connect(t, url, 10*time.Second)
	if err := steady.LoadScripts(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy, through, err := faultproxy.StartFor(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	luckless := connect(t, through, 30*time.Millisecond)
	clients := []*redisstock.Client{steady, connect(t, url, 10*time.Second), connect(t, url, 10*time.Second)}
	for n := range rounds {
		s := liveSale(t, steady, small, n)
		servers := []server{&unlucky{scripts: scripts{t, luckless, s.ID}, proxy: proxy}}
		for _, c := range clients {
			servers = append(servers, &scripts{t, c, s.ID})
		}
		history := concurrently(uint64(n), s.ID, servers, 8)
		if judge(t, s, history) != porcupine.Ok {
			t.Fatalf("no order of these calls explains their answers:\n%s", told(history))
		}
	}
	if proxy.Lost() == 0 {
		t.Error("no reply was lost")
	}
}
