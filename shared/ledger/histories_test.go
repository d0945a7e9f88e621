package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"sluice/shared/sale"
)

// call is one call of a script, by one of several clients at once.
type call struct {
	reserve []sale.Attempt
	release []sale.Release
	adjust  *sale.Adjustment
}

// answer is what a call was answered.
type answer struct {
	lost bool // nobody knows whether the call was executed

	decisions []decided
	released  []sale.Released
	adjusted  sale.AdjustResult
}

// decided is what a decision says, but for the times.
type decided struct {
	code       sale.DecisionCode
	listed     bool
	rid        string
	slot, rank int64
	status     sale.Status
}

func decidedBy(d sale.Decision) decided {
	if !d.Code.HasTicket() {
		return decided{code: d.Code}
	}
	t := d.Ticket
	return decided{code: d.Code, listed: d.InHandOff, rid: t.RID, slot: int64(t.Slot), rank: t.Rank, status: t.Status}
}

// server executes calls.
type server interface {
	do(c call) answer
}

// reference executes calls as the ledger's Redis does.
type reference struct{ redis *Redis }

func newReference(s sale.Sale, without ...Protection) *reference {
	off := off{}
	for _, p := range without {
		off[p] = true
	}
	r := newRedis(s, off)
	r.Fence(1, "")
	r.Flip("", sale.Live{Entry: sale.Entry{Sale: s, Epoch: 1}, Total: s.Total, Stock: s.Total})
	return &reference{redis: r}
}

func (r *reference) do(c call) (a answer) {
	switch {
	case c.reserve != nil:
		decisions, _ := r.redis.Reserve(1, c.reserve)
		for _, d := range decisions {
			a.decisions = append(a.decisions, decidedBy(d))
		}
	case c.release != nil:
		a.released, _ = r.redis.Release(1, c.release)
	default:
		a.adjusted, _ = r.redis.Adjust(1, *c.adjust)
	}
	return a
}

// sequential is a sale as a porcupine model: one call after the other.
func sequential(s sale.Sale) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return newReference(s) },
		Step: func(state, input, output any) (bool, any) {
			next := &reference{redis: state.(*reference).redis.copied()}
			got, want := next.do(input.(call)), output.(answer)
			return want.lost || reflect.DeepEqual(got, want), next
		},
		Equal: func(a, b any) bool {
			return reflect.DeepEqual(a.(*reference).redis.keys, b.(*reference).redis.keys)
		},
	}
}

// judge says whether one order of a history's calls explains all its answers. It may put a
// call whose reply was lost anywhere from its begin on: at the end, it did nothing that anybody saw.
func judge(t *testing.T, s sale.Sale, history []porcupine.Operation) porcupine.CheckResult {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(sequential(s), history, time.Minute)
	if result == porcupine.Unknown {
		t.Fatalf("not decided within a minute:\n%s", told(history))
	}
	return result
}

func told(history []porcupine.Operation) string {
	sorted := slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var text strings.Builder
	for _, o := range sorted {
		c := o.Input.(call)
		fmt.Fprintf(&text, "client %d, %d to %d: reserve %v release %v adjust %v: %+v\n",
			o.ClientId, o.Call, o.Return, c.reserve, c.release, c.adjust, o.Output)
	}
	return text.String()
}

// concurrently has clients make random calls at once, most of them again now and then, and
// returns their history. Client n uses servers[n].
func concurrently(seed uint64, saleID string, servers []server, calls int) []porcupine.Operation {
	start := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	var clients sync.WaitGroup
	for n, srv := range servers {
		clients.Go(func() {
			c := client{id: n, saleID: saleID, clients: len(servers), calls: calls, random: rand.New(rand.NewPCG(seed, uint64(n)))}
			for i := range calls {
				o := porcupine.Operation{ClientId: n, Input: c.next(i), Call: time.Since(start).Nanoseconds()}
				a := srv.do(o.Input.(call))
				o.Output, o.Return = a, time.Since(start).Nanoseconds()
				if a.lost {
					o.Return = math.MaxInt64
				}
				mu.Lock()
				history = append(history, o)
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return history
}

// client makes calls, of which some are about what others reserve.
type client struct {
	id, clients, calls int
	saleID             string
	random             *rand.Rand
	made               []call
}

func (c *client) next(i int) call {
	var one call
	switch n := c.random.IntN(20); {
	case n < 4 && len(c.made) > 0:
		return c.made[c.random.IntN(len(c.made))] // with the same rid, or id
	case n < 12:
		for range 1 + c.random.IntN(3) {
			one.reserve = append(one.reserve, c.attempt(i, len(one.reserve)))
		}
	case n < 18:
		rid := ridOf(c.random.IntN(c.clients), c.random.IntN(min(i+1, c.calls)), 0)
		one.release = []sale.Release{{RID: rid, SaleID: c.saleID, Status: sale.StatusExpired, Give: 1, Slot: sale.SlotOpens}}
	default:
		delta := []int64{-2, -1, 1, 2}[c.random.IntN(4)]
		one.adjust = &sale.Adjustment{ID: fmt.Sprintf("adjustment-%d-%d", c.id, i), SaleID: c.saleID, Delta: delta}
	}
	c.made = append(c.made, one)
	return one
}

func (c *client) attempt(i, n int) sale.Attempt {
	return sale.Attempt{
		RID: ridOf(c.id, i, n), UserID: []string{"ada", "bob", "cyd"}[c.random.IntN(3)], Key: []string{"", "", "k1", "k2"}[c.random.IntN(4)],
	}
}

func ridOf(client, i, n int) string {
	return fmt.Sprintf("01935fd2-%04d-7000-8000-%06d%06d", client, i, n)
}

// shared is a server that calls take turns at; some replies are lost.
type shared struct {
	mu     *sync.Mutex
	server server
	loses  func() bool
}

func (s *shared) do(c call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.server.do(c)
	if s.loses() {
		return answer{lost: true}
	}
	return a
}

// inTurns are as many servers that take turns at one.
func inTurns(s server, n int, seed uint64) (servers []server) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 99))
	for range n {
		servers = append(servers, &shared{mu: &mu, server: s, loses: func() bool { return random.IntN(8) == 0 }})
	}
	return servers
}

// heedless decides by what it read some calls ago: it looks and writes in two steps, as a
// server without scripts would.
type heedless struct {
	mu    sync.Mutex
	redis *Redis
}

func (h *heedless) do(c call) answer {
	h.mu.Lock()
	looked := &reference{redis: h.redis.copied()}
	h.mu.Unlock()
	time.Sleep(time.Millisecond)
	a := looked.do(c)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.redis = looked.redis
	return a
}

var small = Setting{Total: 3, Limit: 2, Rebuy: true}.Sale()

func TestHistories_OfTheReferenceAreLinearizable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		history := concurrently(seed, small.ID, inTurns(newReference(small), 4, seed), 6)
		if judge(t, small, history) != porcupine.Ok {
			t.Fatalf("seed %d:\n%s", seed, told(history))
		}
	}
}

func TestHistories_WhatABrokenServerAnswersIsFound(t *testing.T) {
	t.Parallel()
	servers := map[string]func() server{
		"looks and writes in two steps": func() server { return &heedless{redis: newReference(small).redis} },
	}
	for _, p := range []Protection{ReserveOnce, ReleaseOnce, AdjustOnce} {
		servers[string(p)] = func() server { return newReference(small, p) }
	}
	for name, broken := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				s := broken()
				all := inTurns(s, 4, seed)
				if _, alone := s.(*heedless); alone {
					all = []server{s, s, s, s}
				}
				if judge(t, small, concurrently(seed, small.ID, all, 6)) == porcupine.Illegal {
					return
				}
			}
			t.Error("200 histories, and no order is missing")
		})
	}
}

// A history that went well, with one answer changed, is one that no order explains.
func TestHistories_OneFalseAnswerIsFound(t *testing.T) {
	t.Parallel()
	a, b := sale.Attempt{RID: ridOf(0, 0, 0), UserID: "ada"}, sale.Attempt{RID: ridOf(1, 0, 0), UserID: "bob"}
	one := Setting{Total: 1, Limit: 1, Rebuy: true}.Sale()
	accepted := func(rid string) answer {
		return answer{decisions: []decided{{code: sale.DecidedAccepted, listed: true, rid: rid, slot: 1, rank: 1, status: sale.StatusQueued}}}
	}
	soldOut := answer{decisions: []decided{{code: sale.DecidedSoldOut}}}
	ada, bob := call{reserve: []sale.Attempt{a}}, call{reserve: []sale.Attempt{b}}
	back := call{release: []sale.Release{{RID: a.RID, Status: sale.StatusExpired, Give: 1, Slot: sale.SlotOpens}}}
	op := func(c call, at, until int64, out answer) porcupine.Operation {
		return porcupine.Operation{Input: c, Call: at, Return: until, Output: out}
	}
	second := answer{decisions: []decided{{code: sale.DecidedAccepted, listed: true, rid: b.RID, slot: 1, rank: 2, status: sale.StatusQueued}}}
	lost := answer{lost: true}
	for name, h := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"one after the other":                 {[]porcupine.Operation{op(ada, 1, 2, accepted(a.RID)), op(bob, 3, 4, soldOut)}, porcupine.Ok},
		"at once, either first":               {[]porcupine.Operation{op(ada, 1, 9, soldOut), op(bob, 1, 9, accepted(b.RID))}, porcupine.Ok},
		"one unit for two":                    {[]porcupine.Operation{op(ada, 1, 9, accepted(a.RID)), op(bob, 1, 9, second)}, porcupine.Illegal},
		"sold out before anybody bought":      {[]porcupine.Operation{op(bob, 1, 2, soldOut), op(ada, 3, 4, accepted(a.RID))}, porcupine.Illegal},
		"the unit came back":                  {[]porcupine.Operation{op(ada, 1, 2, accepted(a.RID)), op(back, 3, 4, answer{released: []sale.Released{sale.ReleaseDone}}), op(bob, 5, 6, second)}, porcupine.Ok},
		"the unit came back later":            {[]porcupine.Operation{op(ada, 1, 2, accepted(a.RID)), op(back, 7, 8, answer{released: []sale.Released{sale.ReleaseDone}}), op(bob, 5, 6, second)}, porcupine.Illegal},
		"the unit came back, nobody knew":     {[]porcupine.Operation{op(ada, 1, 2, accepted(a.RID)), op(back, 3, math.MaxInt64, lost), op(bob, 5, 6, second)}, porcupine.Ok},
		"the unit did not come back, nor":     {[]porcupine.Operation{op(ada, 1, 2, accepted(a.RID)), op(back, 3, math.MaxInt64, lost), op(bob, 5, 6, soldOut)}, porcupine.Ok},
		"a lost reply, and the stored answer": {[]porcupine.Operation{op(ada, 1, math.MaxInt64, lost), op(bob, 3, 4, soldOut), op(ada, 5, 6, accepted(a.RID))}, porcupine.Ok},
		"a lost reply, and decided again":     {[]porcupine.Operation{op(ada, 1, math.MaxInt64, lost), op(bob, 3, 4, soldOut), op(ada, 5, 6, soldOut)}, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := judge(t, one, h.history); got != h.want {
				t.Errorf("judged %s, want %s:\n%s", got, h.want, told(h.history))
			}
		})
	}
}
