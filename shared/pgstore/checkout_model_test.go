package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/devstack"
)

// step is one thing that happens to a user's coupons, in Postgres and in the model.
type step struct {
	call   string
	order  string
	hold   time.Duration
	ids    []string
	passes time.Duration
}

func (st step) String() string {
	short := make([]string, len(st.ids))
	for i, id := range st.ids {
		short[i] = id[len(id)-4:]
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %v", st.call, st.order, strings.Join(short, ","), max(st.hold, st.passes)))
}

func (st step) onModel(m *coupon.Model) coupon.Answer {
	switch st.call {
	case "lock":
		return m.Lock(st.order, st.hold, st.ids...)
	case "redeem":
		return m.Redeem(st.order)
	case "release":
		return m.Release(st.order)
	case "refund":
		return m.Refund(st.order)
	case "void":
		return m.Void(st.ids[0])
	case "jobs":
		m.Jobs()
	case "pass":
		m.Pass(st.passes)
	}
	return coupon.Answer{}
}

// modelled is one user whose coupons are driven in Postgres beside the model.
type modelled struct {
	t         *testing.T
	s         *Store
	user      string
	random    *rand.Rand
	began     time.Time
	coupons   []coupon.Instance // as they began
	ids       []string
	histories [][]step // in which order what happened at once may have happened
	orders    []string // that have asked for a lock
	met       *met
}

func newModelled(t *testing.T, s *Store, seed uint64, met *met) *modelled {
	t.Helper()
	m := &modelled{t: t, s: s, user: fmt.Sprintf("user-%d", seed), random: rand.New(rand.NewPCG(seed, 0)), histories: [][]step{nil}, met: met}
	if err := s.pool.QueryRow(t.Context(), `SELECT now()`).Scan(&m.began); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"a", "b", "c"} {
		terms := tenOff(group)
		terms.Value = 900 + m.random.Int64N(200)
		terms.IfGone = []coupon.IfGone{coupon.GoneHonour, coupon.GoneTopUp, coupon.GoneRefund}[m.random.IntN(3)]
		terms.ReturnOnFullRefund = m.random.IntN(3) > 0
		if m.random.IntN(3) == 0 {
			terms.EndsAt = m.began.Add(time.Duration(10+m.random.IntN(90)) * time.Minute)
		}
		id := give(t, s, m.user, terms)
		m.ids, m.coupons = append(m.ids, id), append(m.coupons, instance(t, s, id))
	}
	return m
}

// draw is a step that others may be beside: mostly of an order that has locked.
func (m *modelled) draw() step {
	st := step{order: fmt.Sprintf("o-%d", m.random.IntN(4))}
	if n := m.random.IntN(40); n == 0 {
		return step{call: "void", ids: []string{m.ids[m.random.IntN(len(m.ids))]}}
	} else if n < 14 {
		st.call, st.hold = "lock", []time.Duration{15 * time.Minute, 25 * time.Minute}[m.random.IntN(2)]
		for _, at := range m.random.Perm(len(m.ids))[:1+m.random.IntN(len(m.ids))] {
			st.ids = append(st.ids, m.ids[at])
		}
		m.orders = append(m.orders, st.order)
		return st
	}
	if len(m.orders) > 0 && m.random.IntN(20) > 0 {
		st.order = m.orders[m.random.IntN(len(m.orders))]
	}
	st.call = []string{"redeem", "redeem", "refund", "refund", "release"}[m.random.IntN(5)]
	return st
}

// steps happen at once; time and its jobs are alone, for jobs pass over what is in hand.
func (m *modelled) steps() []step {
	switch n := m.random.IntN(10); {
	case n < 3:
		return []step{{call: "pass", passes: time.Duration(1+m.random.IntN(4)) * 5 * time.Minute}}
	case n < 4:
		return []step{{call: "jobs"}}
	}
	all := make([]step, 1+m.random.IntN(3))
	for i := range all {
		all[i] = m.draw()
	}
	return all
}

func (m *modelled) run(rounds int) {
	m.t.Helper()
	for range rounds {
		steps := m.steps()
		answers := make([]coupon.Answer, len(steps))
		var group sync.WaitGroup
		for i, st := range steps {
			group.Go(func() { answers[i] = m.onStore(st) })
		}
		group.Wait()
		if m.agree(steps, answers); m.t.Failed() {
			return
		}
		m.wantLedger()
		for i, st := range steps {
			m.met.answers(st, answers[i])
		}
	}
	_, events := m.stored()
	for _, id := range m.ids {
		m.met.events(events[id])
	}
}

// agree keeps the histories in which the steps, one after the other, are answered as they
// were and leave the coupons as they are.
func (m *modelled) agree(steps []step, answers []coupon.Answer) {
	m.t.Helper()
	coupons, events := m.stored()
	var kept [][]step
	var diff string
	for _, history := range m.histories {
		for _, order := range permutations(len(steps)) {
			model, next := coupon.NewModel(m.began, m.coupons...), slices.Clone(history)
			for _, st := range history {
				st.onModel(model)
			}
			want := make([]coupon.Answer, len(steps))
			for _, i := range order {
				want[i] = steps[i].onModel(model)
				next = append(next, steps[i])
			}
			if diff = m.differ(model, want, answers, coupons, events); diff == "" {
				kept = append(kept, next)
			}
		}
	}
	if len(kept) == 0 {
		m.t.Errorf("%s: after %v\n%v agree with the model in no order; in the last one (-model +postgres):\n%s", m.user, m.histories[0], steps, diff)
	}
	m.histories = kept[:min(len(kept), 8)]
}

func (m *modelled) differ(model *coupon.Model, want, got []coupon.Answer, coupons map[string]coupon.Instance, events map[string][]coupon.Happened) string {
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
	type as struct {
		State coupon.State
		Order string
		Cycle int64
		What  []coupon.Happened
	}
	for _, id := range m.ids {
		c, happened := model.Coupon(id)
		is := coupons[id]
		diff += cmp.Diff(as{c.State, c.OrderID, c.Cycle, happened}, as{is.State, is.OrderID, is.Cycle, events[id]}, cmpopts.EquateEmpty())
	}
	return diff
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}

// stored are the coupons and what happened to them, as Postgres has it.
func (m *modelled) stored() (map[string]coupon.Instance, map[string][]coupon.Happened) {
	m.t.Helper()
	list, err := m.s.CouponsOf(m.t.Context(), m.user, 10)
	if err != nil {
		m.t.Fatal(err)
	}
	coupons, events := map[string]coupon.Instance{}, map[string][]coupon.Happened{}
	for _, c := range list {
		coupons[c.ID] = c
	}
	rows, err := m.s.pool.Query(m.t.Context(), `
		SELECT coupon_id::text, event, order_id, cycle FROM coupon_events WHERE coupon_id = ANY ($1::text[]::uuid[]) ORDER BY id`, m.ids)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var h coupon.Happened
		if err := rows.Scan(&id, &h.Event, &h.OrderID, &h.Cycle); err != nil {
			m.t.Fatal(err)
		}
		events[id] = append(events[id], h)
	}
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
	return coupons, events
}

func (m *modelled) onStore(st step) coupon.Answer {
	ctx, o := m.t.Context(), orderOf(m.user, st.order)
	switch st.call {
	case "lock":
		l := lockOf(o, st.ids...)
		l.Hold = st.hold
		_, err := m.s.LockCoupons(ctx, l)
		return m.answer(coupon.Answer{}, err)
	case "redeem":
		redeemed, err := m.s.RedeemCoupons(ctx, o)
		return m.answer(redeemedAnswer(redeemed), err)
	case "release":
		released, err := m.s.ReleaseCoupons(ctx, o)
		return m.answer(coupon.Answer{Released: released.Released}, err)
	case "refund":
		refunded, err := m.s.RefundCoupons(ctx, allOfIt(o, "r-1"))
		return m.answer(coupon.Answer{Returned: refunded.Returned}, err)
	case "void":
		_, err := m.s.VoidCoupon(ctx, ada, st.ids[0])
		return m.answer(coupon.Answer{}, err)
	case "jobs":
		_, lapse := m.s.LapseLocks(ctx, 1000)
		_, expire := m.s.ExpireCoupons(ctx, 1000)
		return m.answer(coupon.Answer{}, errors.Join(lapse, expire))
	default:
		return m.answer(coupon.Answer{}, m.pass(ctx, st.passes))
	}
}

func redeemedAnswer(r checkout.Redeemed) coupon.Answer {
	a := coupon.Answer{Refund: r.Result == checkout.ResultRefund}
	for _, c := range r.Redeemed {
		a.Redeemed = append(a.Redeemed, c.CouponID)
		if c.Late {
			a.Late = append(a.Late, c.CouponID)
		}
	}
	for _, c := range r.Missing {
		a.Missing = append(a.Missing, c.CouponID)
	}
	return a
}

// answer says a refusal as the model does.
func (m *modelled) answer(a coupon.Answer, err error) coupon.Answer {
	var refused *checkout.CouponError
	switch {
	case err == nil:
		return a
	case errors.As(err, &refused):
		return coupon.Answer{Refused: coupon.Refusal(refused.Why), CouponID: refused.CouponID}
	case errors.Is(err, checkout.ErrNoOrder):
		return coupon.Answer{Refused: coupon.RefusedNoOrder}
	case errors.Is(err, checkout.ErrOrderLocked):
		return coupon.Answer{Refused: coupon.RefusedOrderLocked}
	case errors.Is(err, checkout.ErrRedeemed):
		return coupon.Answer{Refused: coupon.RefusedOrderRedeemed}
	case errors.Is(err, checkout.ErrNotRedeemed):
		return coupon.Answer{Refused: coupon.RefusedNotRedeemed}
	}
	m.t.Errorf("%s: %v", m.user, err)
	return coupon.Answer{}
}

// pass brings everything that has a time nearer by d.
func (m *modelled) pass(ctx context.Context, d time.Duration) error {
	_, err := m.s.pool.Exec(ctx, `
		UPDATE coupons SET locked_until = locked_until - $2::interval, ends_at = ends_at - $2::interval,
			snapshot = CASE WHEN snapshot ? 'ends_at'
				THEN snapshot || jsonb_build_object('ends_at', to_char((ends_at - $2::interval) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
				ELSE snapshot END
		WHERE user_id = $1`, m.user, d)
	if err != nil {
		return err
	}
	_, err = m.s.pool.Exec(ctx, `UPDATE checkouts SET locked_until = locked_until - $2::interval WHERE user_id = $1`, m.user, d)
	return err
}

// wantLedger wants the parties of every redeemed order to bear its discounts but for those
// that are topped up, and of a refunded one nothing of any part.
func (m *modelled) wantLedger() {
	m.t.Helper()
	rows, err := m.s.pool.Query(m.t.Context(), `
		SELECT c.order_id, coalesce((c.quote ->> 'discount')::bigint, 0) - (c.result ->> 'top_up')::bigint, c.state = 'redeemed',
			EXISTS (SELECT FROM checkout_refunds r WHERE r.user_id = c.user_id AND r.order_id = c.order_id),
			coalesce((SELECT sum(l.amount) FROM coupon_ledger l WHERE l.user_id = c.user_id AND l.order_id = c.order_id), 0)::bigint,
			(SELECT count(*) FROM (SELECT FROM coupon_ledger l WHERE l.user_id = c.user_id AND l.order_id = c.order_id
				GROUP BY coupon_id, cycle, part, part_id, party HAVING sum(amount) <> 0) uneven)
		FROM checkouts c WHERE c.user_id = $1 AND c.result IS NOT NULL`, m.user)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var order string
		var discount, borne, uneven int64
		var redeemed, refunded bool
		if err := rows.Scan(&order, &discount, &redeemed, &refunded, &borne, &uneven); err != nil {
			m.t.Fatal(err)
		}
		want := discount
		if !redeemed || refunded {
			want = 0
		}
		if borne != want || (refunded && uneven > 0) {
			m.t.Errorf("%s, %s: the parties bear %d, want %d; %d parts are not even; after %v", m.user, order, borne, want, uneven, m.histories[0])
		}
	}
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
}

// Whatever orders, operators and time do with a few coupons, one after the other or at
// once, the store answers and ends as the model does in some order of what was at once.
func TestCheckout_RandomInterleavingsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	const stores, rounds = 4, 12
	least, most, base := int64(150), int64(1_000), uint64(1)
	if devstack.Long() {
		least, most, base = 5_000, 5_000, uint64(time.Now().UnixNano())
	}
	t.Logf("seeds from %d", base)
	var next atomic.Int64
	met := &met{counts: map[string]int{}}
	t.Cleanup(func() { met.wantAll(t) })
	for n := range stores { // jobs meet every coupon of a store
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			for n := next.Add(1); (n <= least || n <= most && len(met.missed()) > 0) && !t.Failed(); n = next.Add(1) {
				newModelled(t, s, base+uint64(n), met).run(rounds)
			}
		})
	}
}

// met counts what interleavings have met, so that none of it is missed unseen.
type met struct {
	mu     sync.Mutex
	counts map[string]int
}

func (m *met) answers(st step, a coupon.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[st.call+" "+string(a.Refused)]++
	for what, is := range map[string]bool{
		"late": len(a.Late) > 0, "missing": len(a.Missing) > 0, "missing and redeemed": len(a.Missing) > 0 && len(a.Redeemed) > 0,
		"order to be refunded": a.Refund, "returned": len(a.Returned) > 0,
	} {
		if is {
			m.counts[what]++
		}
	}
}

func (m *met) events(events []coupon.Happened) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, h := range events {
		m.counts["event "+string(h.Event)]++
		if i > 0 && h.OrderID != events[i-1].OrderID {
			m.counts["event "+string(h.Event)+" of another order after "+string(events[i-1].Event)]++
		}
		if h.Cycle > 1 && h.Event == coupon.EventRedeem {
			m.counts["redeemed in a later cycle"]++
		}
	}
}

func (m *met) wantAll(t *testing.T) {
	t.Helper()
	if t.Failed() { // and so ended early
		return
	}
	if missed := m.missed(); len(missed) > 0 {
		t.Errorf("no interleaving met any of %q", missed)
	}
	t.Logf("met %v", m.counts)
}

// missed is what interleavings have to meet and have not yet.
func (m *met) missed() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, what := range []string{
		"lock ", "lock locked", "lock redeemed", "lock expired", "lock void", "lock order_locked", "redeem ", "redeem no_order", "release ", "release no_order",
		"release order_redeemed", "refund ", "refund no_order", "refund not_redeemed", "void ", "void locked", "void redeemed",
		"late", "missing", "missing and redeemed", "order to be refunded", "returned", "redeemed in a later cycle",
		"event lock of another order after lapse", "event lock of another order after return", "event expire", "event return",
	} {
		if m.counts[what] == 0 {
			all = append(all, what)
		}
	}
	return all
}
