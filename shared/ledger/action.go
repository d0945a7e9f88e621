package ledger

import (
	"fmt"

	"sluice/shared/sale"
)

// Action is one thing that happens. N chooses among what there is to choose from.
type Action struct {
	Do Do
	N  int
}

// Do is a kind of action.
type Do string

// Actions. What cannot happen now, does not.
const (
	Attempt   Do = "attempt"        // one or two buyers attempt, in one call
	Retry     Do = "retry"          // a call is repeated, with its rids
	Step      Do = "step"           // a task takes its next step
	LoseReply Do = "lose the reply" // a task takes its next step, and never hears of it
	Crash     Do = "crash"          // a task's process dies
	Freeze    Do = "freeze"         // a task's process stands still
	Thaw      Do = "thaw"           // and goes on
	Deliver   Do = "deliver"        // a hand-over, or two of one epoch, come to a worker
	Redeliver Do = "redeliver"      // any hand-over comes, acknowledged or not
	HandAgain Do = "hand over again"
	Sweep     Do = "sweep"
	Show      Do = "show"
	Release   Do = "release"
	AdjustNew Do = "adjust"
	AdjustOld Do = "adjust again" // the same one is asked for once more
	AdjustEnd Do = "finish adjustments"
	Expire    Do = "expire"
	Cancel    Do = "cancel"
	Pay       Do = "pay"    // an event comes, perhaps before its order
	Refund    Do = "refund" // another one
	ApplyPaid Do = "apply payment"
	Rebuild   Do = "rebuild"
	Notice    Do = "notice" // that the sale is lost, or that somebody has broken its rebuild off
	Announce  Do = "announce"
	Lose      Do = "lose redis"
	Copy      Do = "copy redis"
	ComeBack  Do = "redis comes back old"
)

// often is how often a kind is to come among others.
type often struct {
	do Do
	n  int
}

// calm has most of what goes on in a sale, now and then a fault. A task has some five steps.
var calm = []often{
	{Step, 60}, {Deliver, 18}, {Attempt, 16}, {Retry, 3}, {Redeliver, 3}, {HandAgain, 2}, {Sweep, 4}, {Show, 4}, {Release, 9},
	{AdjustNew, 4}, {AdjustOld, 2}, {AdjustEnd, 3}, {Expire, 9}, {Cancel, 3}, {Pay, 6}, {Refund, 2}, {ApplyPaid, 8},
	{Rebuild, 1}, {Notice, 8}, {Announce, 2}, {Lose, 1}, {Copy, 2}, {ComeBack, 1}, {LoseReply, 6}, {Crash, 6}, {Freeze, 8}, {Thaw, 8}, {Step, 80},
}

// rough has rebuild upon rebuild, and processes that stand still meanwhile.
var rough = []often{
	{Step, 50}, {Deliver, 12}, {Attempt, 20}, {Retry, 2}, {Redeliver, 3}, {HandAgain, 2}, {Sweep, 4}, {Show, 2}, {Release, 4},
	{AdjustNew, 3}, {AdjustOld, 2}, {AdjustEnd, 2}, {Expire, 6}, {Cancel, 2}, {Pay, 4}, {Refund, 1}, {ApplyPaid, 6},
	{Rebuild, 8}, {Notice, 20}, {Announce, 4}, {Lose, 5}, {Copy, 2}, {ComeBack, 2}, {LoseReply, 4}, {Crash, 2}, {Freeze, 20}, {Thaw, 4}, {Step, 80},
}

// act does one action.
func (w *World) act(a Action) {
	w.note("{%q, %d}", a.Do, a.N)
	if do := w.acts[a.Do]; do != nil {
		do(max(a.N, 0))
	}
}

// actions are how each kind is done.
func (w *World) actions() map[Do]func(n int) {
	plain := func(do func()) func(int) { return func(int) { do() } }
	return map[Do]func(n int){
		Attempt: w.attemptNew, Retry: w.attemptAgain, Step: w.stepOne, LoseReply: w.loseReply, Crash: w.crash, Freeze: w.freeze, Thaw: w.thaw,
		Deliver: w.deliverOpen, Redeliver: w.deliverAny, HandAgain: w.handAgain,
		Sweep: plain(w.sweep), Show: plain(w.show), Release: plain(w.release),
		AdjustNew: w.adjustNew, AdjustOld: w.adjustAgain, AdjustEnd: plain(w.adjustLeft),
		Expire: w.expire, Cancel: w.cancel, Pay: w.payNew, Refund: w.refundNew, ApplyPaid: w.applyOne,
		Rebuild: plain(w.rebuild), Notice: plain(w.notice), Announce: plain(func() { w.announce(w.truth.Entry()) }),
		Lose: plain(w.lose), Copy: plain(func() { w.copy = w.fast.copied() }), ComeBack: plain(w.comeBack),
	}
}

func (w *World) lose() {
	w.hit("redis lost")
	w.redis.Lose()
}

// attemptNew: one or two of three buyers, with or without a key.
func (w *World) attemptNew(n int) {
	buyers, keys := []string{"ada", "bob", "cyd"}, []string{"", "k"}
	line := []sale.Attempt{{RID: w.newRID(), UserID: buyers[n%3], Key: keys[n/3%2]}}
	if n/6%3 == 0 {
		line = append(line, sale.Attempt{RID: w.newRID(), UserID: buyers[n/18%3], Key: keys[n/54%2]})
	}
	w.calls = append(w.calls, reserveCall{epoch: w.announced.Epoch, attempts: line})
	w.reserve(line)
}

// attemptAgain is at the call's own epoch alone: no gateway takes a rid on to the next.
func (w *World) attemptAgain(n int) {
	if len(w.calls) == 0 {
		return
	}
	if c := w.calls[n%len(w.calls)]; c.epoch == w.announced.Epoch {
		w.reserve(c.attempts)
	}
}

func (w *World) stepOne(n int) {
	if t := w.awake(n); t != nil {
		w.run(t)
	}
}

func (w *World) loseReply(n int) {
	if t := w.awake(n); t != nil {
		w.run(t)
		w.end(t)
	}
}

// awake chooses a task that is not frozen, nil when there is none.
func (w *World) awake(n int) *task {
	var awake []*task
	for _, t := range w.tasks {
		if !t.frozen {
			awake = append(awake, t)
		}
	}
	if len(awake) == 0 {
		return nil
	}
	return awake[n%len(awake)]
}

func (w *World) freeze(n int) {
	if t := w.awake(n); t != nil {
		t.frozen = true
	}
}

func (w *World) thaw(n int) {
	if len(w.tasks) > 0 {
		w.tasks[n%len(w.tasks)].frozen = false
	}
}

func (w *World) crash(n int) {
	if len(w.tasks) > 0 {
		w.end(w.tasks[n%len(w.tasks)])
	}
}

func (w *World) deliverOpen(n int) {
	var open []int
	for i, m := range w.stream {
		if !m.acknowledged {
			open = append(open, i+1)
		}
	}
	if len(open) == 0 {
		return
	}
	at := n % len(open)
	if next := at + 1; n/7%2 == 0 && next < len(open) && w.stream[open[next]-1].epoch == w.stream[open[at]-1].epoch {
		w.deliver(open[at], open[next])
		return
	}
	w.deliver(open[at])
}

func (w *World) deliverAny(n int) {
	if len(w.stream) > 0 {
		w.deliver(n%len(w.stream) + 1)
	}
}

// handAgain is a hand-over published once more, minutes later.
func (w *World) handAgain(n int) {
	if len(w.stream) > 0 {
		m := w.stream[n%len(w.stream)]
		w.publish(m.epoch, m.reservations)
	}
}

func (w *World) adjustNew(n int) {
	if len(w.adjustments) >= 4 {
		return
	}
	a := sale.Adjustment{ID: fmt.Sprintf("%s-%d", w.rows.rules.ID, len(w.adjustments)+1), SaleID: w.rows.rules.ID, Delta: []int64{1, -1, 2, -2}[n%4]}
	w.adjustments = append(w.adjustments, a)
	w.adjust(a)
}

func (w *World) adjustAgain(n int) {
	if len(w.adjustments) > 0 {
		w.adjust(w.adjustments[n%len(w.adjustments)])
	}
}

func (w *World) expire(n int) {
	if open := w.expirable(); len(open) > 0 && w.truth.Expire(open[n%len(open)]) {
		w.hit("expired")
	}
}

func (w *World) cancel(n int) {
	if open := w.expirable(); len(open) > 0 && w.truth.Cancel(open[n%len(open)]) {
		w.hit("cancelled")
	}
}

// expirable are the orders that were ever made, but for those that are closed.
func (w *World) expirable() (open []string) {
	for _, rid := range w.issued {
		if w.rows.orders[rid].open() {
			open = append(open, rid)
		}
	}
	return open
}

func (w *World) payNew(n int) { w.event(sale.PaymentSucceeded, n, false) }

func (w *World) refundNew(n int) { w.event(sale.RefundSucceeded, n, n/7%2 == 0) }

// event is one that the payment provider sends about an order, or what is to become one.
func (w *World) event(what sale.PaymentType, n int, restock bool) {
	if len(w.issued) == 0 || w.events >= 8 {
		return
	}
	w.events++
	id := fmt.Sprintf("%s-%d", w.rows.rules.ID, w.events)
	w.truth.StorePayment(sale.PaymentEvent{
		EventID: id, Type: what, OrderID: w.issued[n%len(w.issued)], AmountMinor: price, Currency: currency, Restock: restock,
	})
}

func (w *World) applyOne(n int) {
	if known := w.truth.KnownPayments(); len(known) > 0 {
		w.pay(known[n%len(known)])
	}
}

// comeBack is of the reference alone: real stores have tests of their own for it.
func (w *World) comeBack() {
	if w.redis == FastState(w.fast) {
		w.hit("redis came back old")
		w.fast.comeBack(w.copy)
	}
}
