package history

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// world is a small history that went well, with what Postgres ended with: sale s of 3
// units, one of which an operator added.
//
//	a  ann, key k    paid
//	b  bob           expired, its unit given back
//	c  cid           without an answer, and ordered all the same
//	d  bob again     confirmed, after b was closed
//	e  eve           rejected
//	f  bob           of b's late payment
//	g  gus           cancelled, paid all the same, and that payment refunded
//	h  hal           paid and refunded, its unit given back
func world() (events []Event, s State) {
	events = []Event{
		attempt("ann", "k", 1, 202, "a", "queued"), read("ann", 2, "a", "queued"), read("ann", 3, "a", "confirmed"), read("ann", 5, "a", "paid"),
		attempt("ann", "k", 3, 200, "a", "confirmed"),
		attempt("bob", "", 1, 202, "b", "queued"), read("bob", 4, "b", "confirmed"), read("bob", 6, "b", "expired"),
		attempt("cid", "", 1, 0, "", ""),
		attempt("bob", "", 7, 202, "d", "queued"),
		attempt("eve", "", 1, 503, "e", "queued"), read("eve", 4, "e", "rejected"),
		attempt("zoe", "", 8, 409, "", ""),
		attempt("gus", "", 1, 202, "g", "queued"), cancel("gus", 3, "g"),
		attempt("hal", "", 1, 202, "h", "queued"), read("hal", 9, "h", "refunded"),
		pay(4, succeeded, "p1", "a"), pay(6, succeeded, "p1", "a"), pay(8, succeeded, "p2", "b"),
		pay(3, succeeded, "p3", "g"), pay(5, refunded, "r3", "g"), pay(3, succeeded, "p4", "h"), pay(4, refunded, "r4", "h"),
	}
	return events, State{
		Sales: []Sale{{ID: "s", Configured: 3, Total: 4, Held: 4, Limit: 2}},
		Orders: []Order{
			{ID: "a", Sale: "s", User: "ann", Key: "k", Slot: 1, State: "paid", Amount: 100, HoldsUnit: true, HoldsSlot: true},
			{ID: "b", Sale: "s", User: "bob", Slot: 1, State: "expired", Amount: 100},
			{ID: "c", Sale: "s", User: "cid", Slot: 1, State: "pending", Amount: 100, HoldsUnit: true, HoldsSlot: true},
			{ID: "d", Sale: "s", User: "bob", Slot: 1, State: "pending", Amount: 100, HoldsUnit: true, HoldsSlot: true},
			{ID: "e", Sale: "s", User: "eve", Slot: 1, State: "rejected", Reason: "surplus", Amount: 100},
			{ID: "f", Sale: "s", User: "bob", Key: "late", Slot: 2, State: "paid", Amount: 100, HoldsUnit: true, HoldsSlot: true, Replaces: "b"},
			{ID: "g", Sale: "s", User: "gus", Slot: 1, State: "cancelled", Amount: 100},
			{ID: "h", Sale: "s", User: "hal", Slot: 1, State: "refunded", Amount: 100},
		},
		Releases: []Release{{RID: "b", Sale: "s", Status: "expired", Give: 1}, {RID: "e", Sale: "s", Status: "rejected"},
			{RID: "g", Sale: "s", Status: "cancelled", Give: 1}, {RID: "h", Sale: "s", Status: "refunded", Give: 1}},
		Adjustments: []Adjustment{{ID: "more", Sale: "s", Delta: 1, State: "applied"}, {ID: "less", Sale: "s", Delta: -9, State: "refused"}},
		Payments: []Payment{
			{ID: "p1", Type: succeeded, Order: "a", Amount: 100, Result: "paid"}, {ID: "p2", Type: succeeded, Order: "b", Amount: 100, Result: "replaced"},
			{ID: "p3", Type: succeeded, Order: "g", Amount: 100, Result: "owed"}, {ID: "r3", Type: refunded, Order: "g", Amount: 100, Result: "settled"},
			{ID: "p4", Type: succeeded, Order: "h", Amount: 100, Result: "paid"}, {ID: "r4", Type: refunded, Order: "h", Amount: 100, Result: "refunded"},
			{ID: "p9", Type: succeeded, Order: "of another sale", Amount: 100},
		},
		Owed: []Owed{{Payment: "p3", Order: "g", Settled: true}, {Payment: "p8", Order: "of another sale"}},
	}
}

const (
	succeeded = "payment.succeeded"
	refunded  = "refund.succeeded"
)

func second(n int) time.Duration { return time.Duration(n) * time.Second }

func attempt(user, key string, at, status int, rid, ticket string) Event {
	return Event{Kind: Attempt, Sale: "s", User: user, Key: key, Began: second(at), Ended: second(at) + time.Millisecond, Status: status, RID: rid, Ticket: ticket}
}

func read(user string, at int, rid, ticket string) Event {
	return Event{Kind: Read, Sale: "s", User: user, Began: second(at), Ended: second(at) + time.Millisecond, Status: 200, RID: rid, Ticket: ticket}
}

func pay(at int, what, id, order string) Event {
	return Event{Kind: Pay, Began: second(at), Ended: second(at) + time.Millisecond, Status: 200, Payment: id, Type: what, Order: order}
}

func cancel(user string, at int, order string) Event {
	return Event{Kind: Cancel, Sale: "s", User: user, Began: second(at), Ended: second(at) + time.Millisecond, Status: 200, Order: order}
}

func TestCheck_AHistoryThatWentWell(t *testing.T) {
	t.Parallel()
	events, s := world()
	slices.Reverse(events) // their order is none of the checker's business
	if found := Check(events, s, nil); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// plant is a violation, as it is named, what it violates, what is said of it, and how it is
// done to a history that went well.
type plant struct {
	name, invariant, says string
	do                    func(events *[]Event, s *State)
}

// planted are violations, each of which must be seen, and taken for what it is.
var planted = []plant{
	{"an order too many", "I1", "5 orders hold one of 4 units", func(events *[]Event, s *State) {
		*events = append(*events, attempt("ida", "", 1, 202, "i", "queued"))
		s.Orders = append(s.Orders, Order{ID: "i", Sale: "s", User: "ida", Slot: 1, State: "pending", HoldsUnit: true, HoldsSlot: true})
		s.Sales[0].Held = 5
	}},
	{"two orders in a slot", "I2", "orders d and f hold slot 1 of bob", func(_ *[]Event, s *State) { s.Orders[5].Slot = 1 }},
	{"more than the limit", "I2", "bob holds more than 1 orders", func(_ *[]Event, s *State) { s.Sales[0].Limit = 1 }},
	{"a key with two reservations", "I2", `key "k" of ann in sale s was answered with a and with e`, func(events *[]Event, _ *State) {
		(*events)[4].RID, (*events)[4].Ticket = "e", ""
	}},
	{"an accepted attempt that vanished", "I3", "eve was answered 202 with reservation x", func(events *[]Event, _ *State) {
		*events = append(*events, attempt("eve", "", 3, 202, "x", "queued"))
	}},
	{"a replay that vanished", "I3", "eve was answered 200 with reservation x", func(events *[]Event, _ *State) {
		*events = append(*events, attempt("eve", "", 3, 200, "x", "queued"))
	}},
	{"an accepted attempt that was rejected", "I3", "eve was answered 202 with reservation e in sale s, which is rejected as surplus", func(events *[]Event, _ *State) {
		*events = append(*events, attempt("eve", "", 2, 202, "e", "queued"))
	}},
	{"a confirmed attempt that was rejected", "I3", "eve was answered 201 with reservation e in sale s, which is rejected as surplus", func(events *[]Event, _ *State) {
		*events = append(*events, attempt("eve", "", 2, 201, "e", "confirmed"))
	}},
	{"an accepted attempt that was rejected without an order", "I3", "eve was answered 202 with reservation e in sale s, which is rejected, and was never", func(events *[]Event, s *State) {
		*events = append(*events, attempt("eve", "", 2, 202, "e", "queued"))
		s.Orders = slices.Delete(s.Orders, 4, 5)
	}},
	{"an order of somebody else", "I3", "its order is of max", func(_ *[]Event, s *State) { s.Orders[3].User = "max" }},
	{"a payment that was not stored", "I3", "payment event p2 was answered 200 and is not stored", func(_ *[]Event, s *State) { s.Payments = slices.Delete(s.Payments, 1, 2) }},
	{"a payment that was stored for another order", "I3", "payment event p2, payment.succeeded of order b, is stored as payment.succeeded of c", func(_ *[]Event, s *State) { s.Payments[1].Order = "c" }},
	{"a refund that was stored as a payment", "I3", "payment event r4, refund.succeeded of order h, is stored as payment.succeeded of h", func(_ *[]Event, s *State) { s.Payments[5].Type = succeeded }},
	{"a payment that was not applied", "I3", "payment event p2 of order b was never applied", func(_ *[]Event, s *State) { s.Payments[1].Result = "" }},
	{"a payment with two effects", "I3", "order b: of 1 payments 1 bought something, and 1 are owed all the same", func(_ *[]Event, s *State) {
		s.Owed = append(s.Owed, Owed{Payment: "p2", Order: "b"})
	}},
	{"a second payment that is not owed", "I3", "order a: of 2 payments 1 bought something, and 0 are owed", func(events *[]Event, s *State) {
		*events = append(*events, pay(7, succeeded, "p5", "a"))
		s.Payments = append(s.Payments, Payment{ID: "p5", Type: succeeded, Order: "a", Amount: 100, Result: "paid"})
	}},
	{"a late payment that bought nothing", "I3", "order b: of 1 payments 0 bought something, and 0 are owed", func(_ *[]Event, s *State) { s.Orders[5].State = "pending" }},
	{"a late payment that bought two orders", "I3", "order b and what took its place: 2 were paid for", func(_ *[]Event, s *State) {
		s.Orders[3].State, s.Orders[3].Replaces = "paid", "b"
	}},
	{"an order that nobody paid for", "I3", "order c was paid for by nobody", func(_ *[]Event, s *State) { s.Orders[2].State = "paid" }},
	{"an order that was paid for with too little", "I3", "order a was paid for by nobody", func(_ *[]Event, s *State) { s.Payments[0].Amount = 99 }},
	{"a refund that did nothing", "I3", "order h: 1 refunds, and 0 payments have gone back", func(_ *[]Event, s *State) { s.Orders[7].State = "paid" }},
	{"a payment that went back unasked", "I3", "order a: 0 refunds, and 1 payments have gone back", func(_ *[]Event, s *State) { s.Orders[0].State = "refunded" }},
	{"a debt that was settled twice", "I3", "order g: 1 refunds, and 2 payments have gone back", func(_ *[]Event, s *State) {
		s.Owed = append(s.Owed, Owed{Payment: "p5", Order: "g", Settled: true})
	}},
	{"a unit that nobody holds", "I4", "4 units are held, 3 orders hold one", func(_ *[]Event, s *State) { s.Orders[2].HoldsUnit = false }},
	{"an adjustment that was counted twice", "I4", "its total is 5, with all adjustments it should be 4", func(_ *[]Event, s *State) { s.Sales[0].Total = 5 }},
	{"an adjustment that was not counted", "I4", "its total is 4, with all adjustments it should be 3", func(_ *[]Event, s *State) { s.Adjustments[0].State = "refused" }},
	{"a unit given back that an order holds", "I5", "order a holds a unit that was given back", func(_ *[]Event, s *State) {
		s.Releases = append(s.Releases, Release{RID: "a", Sale: "s", Status: "refunded", Give: 1})
	}},
	{"a unit that never came back", "I5", "order b is expired, and its unit was never given back", func(_ *[]Event, s *State) { s.Releases = s.Releases[1:] }},
	{"a release that gave nothing", "I5", "order b is expired, and 0 units were given back", func(_ *[]Event, s *State) { s.Releases[0].Give = 0 }},
	{"an order that nobody asked for", "I6", "order c of cid in sale s", func(events *[]Event, _ *State) { (*events)[8].Status = 409 }},
	{"an order under another key", "I6", "order c of cid in sale s", func(_ *[]Event, s *State) { s.Orders[2].Key = "other" }},
	{"an order instead of none", "I6", "order f of bob in sale s", func(_ *[]Event, s *State) { s.Orders[5].Replaces = "nobody" }},
	{"a ticket of an order that is not there", "I6", "ticket of x was confirmed, and it has no order", func(events *[]Event, _ *State) { *events = append(*events, read("eve", 9, "x", "confirmed")) }},
	{"an order that is not cancelled any more", "I7", "order g was cancelled for gus, and is paid", func(_ *[]Event, s *State) { s.Orders[6].State = "paid" }},
	{"a ticket that went back", "I7", "ticket of a was confirmed, and then queued", func(events *[]Event, _ *State) { *events = append(*events, read("ann", 9, "a", "queued")) }},
	{"a ticket with two outcomes", "I7", "ticket of e was rejected, and then confirmed", func(events *[]Event, s *State) {
		*events = append(*events, read("eve", 9, "e", "confirmed"))
	}},
	{"a ticket that says more than its order", "I7", "ticket of d was paid, its order is pending", func(events *[]Event, _ *State) { *events = append(*events, read("bob", 9, "d", "paid")) }},
}

func TestCheck_SeesEveryPlantedViolation(t *testing.T) {
	t.Parallel()
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			events, s := world()
			p.do(&events, &s)
			found := Check(events, s, nil)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Invariant == p.invariant && strings.Contains(v.Detail, p.says) }) {
				t.Errorf("found %v, want %s: %s", found, p.invariant, p.says)
			}
		})
	}
	for _, invariant := range []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7"} {
		if !slices.ContainsFunc(planted, func(p plant) bool { return p.invariant == invariant }) {
			t.Errorf("no violation of %s is planted", invariant)
		}
	}
}

func TestCheck_ARejectionThatIsMeantOrRepeated(t *testing.T) {
	t.Parallel()
	events, s := world()
	repeated := append(slices.Clone(events), attempt("eve", "", 5, 200, "e", "rejected"))
	if found := Check(repeated, s, nil); len(found) > 0 {
		t.Errorf("repeated: found %v", found)
	}
	accepted := append(events, attempt("eve", "", 2, 202, "e", "queued"))
	if found := Check(accepted, s, func(o Order) bool { return o.ID == "e" && o.Reason == "surplus" }); len(found) > 0 {
		t.Errorf("meant: found %v", found)
	}
	if found := Check(accepted, s, func(o Order) bool { return o.Reason == "duplicate" }); len(found) != 1 {
		t.Errorf("not meant: found %v", found)
	}
}

func TestCheck_AnswersThatOverlapHaveNoOrder(t *testing.T) {
	t.Parallel()
	events, s := world()
	slow := read("ann", 4, "a", "confirmed")
	slow.Ended = second(9) // asked before paid was seen, answered after
	if found := Check(append(events, slow), s, nil); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
