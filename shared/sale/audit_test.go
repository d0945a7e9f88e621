package sale

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sold is the evidence of a sale of three units at rest: a pending order, a paid
// one, one that expired and gave its unit back, and a rejected duplicate.
func sold() Evidence {
	row := func(rid, user string, rank int64, state OrderState) Order {
		return Order{
			Reservation: Reservation{RID: rid, UserID: user, Slot: 1, Rank: rank}, State: state, ShownState: state,
			HoldsUnit: state.HoldsUnit(), HoldsSlot: state.HoldsUnit(),
		}
	}
	e := Evidence{
		SaleID: "s", PerUserLimit: 1, Configured: 5, Total: 3, Held: 2, Still: true,
		Orders: []Order{
			row("r1", "ann", 1, OrderPending), row("r2", "bob", 2, OrderPaid),
			row("r3", "cid", 3, OrderExpired), row("r4", "ann", 4, OrderRejected),
		},
		Releases: []Release{
			{RID: "r3", Status: StatusExpired, Give: 1},
			{RID: "r4", Status: StatusRejected, Reason: ReasonDuplicate, Holder: "r1"},
		},
		Adjustments: []AdjustmentRow{
			{Adjustment: Adjustment{ID: "a1", Delta: -2}, State: AdjustmentApplied},
			{Adjustment: Adjustment{ID: "a2", Delta: -9}, State: AdjustmentRefused, Unsold: 3},
		},
		HandedOver: []string{"r1", "r2", "r2", "r3", "r4"},
		Redis: RedisEvidence{Loaded: 4, Stock: 1, Accepted: 4, Given: 1, Rank: 4, Served: 4, Buyers: []string{"ann#1", "bob#1"},
			Adjusted: []Adjustment{{ID: "a1", Delta: -2}}},
		Client: []Seen{
			{RID: "r1", Accepted: true, Statuses: []Status{StatusQueued, StatusQueued, StatusConfirmed}},
			{RID: "r2", Accepted: true, Statuses: []Status{StatusConfirmed}},
		},
	}
	e.Orders[3].Reason = ReasonDuplicate
	e.giveTickets()
	return e
}

// giveTickets makes Redis have a ticket of every order, and what it is found by.
func (e *Evidence) giveTickets() {
	e.Redis.Tickets, e.Redis.Unpaid = nil, 0
	e.Redis.Slots, e.Redis.Keys = make(map[string]string), make(map[string]string)
	for _, o := range e.Orders {
		e.Redis.Tickets = append(e.Redis.Tickets, Ticket{Reservation: o.Reservation, Status: o.State.TicketStatus()})
		if e.Redis.Slots[o.slotName()] == "" || o.HoldsSlot {
			e.Redis.Slots[o.slotName()] = o.RID
		}
		if !o.State.TicketStatus().Closed() {
			e.Redis.Keys[o.keyName()] = o.RID
		}
		if o.State == OrderPending {
			e.Redis.Unpaid++
		}
	}
}

func TestAudit_CleanSalePasses(t *testing.T) {
	t.Parallel()
	v := Audit(sold())
	if !v.Pass || !v.AtRest || len(v.Violations) > 0 {
		t.Fatalf("clean sale: %+v", v)
	}
	encoded, err := json.Marshal(v)
	if want := `{"pass":true,"violations":[]}`; err != nil || string(encoded) != want {
		t.Fatalf("json %s (%v), want %s", encoded, err, want)
	}
}

// What came after a load had counted has a rejected row and no ticket, and its rank may
// be one of those that the load counted as served.
func TestAudit_SupersededOrdersNeedNoTicket(t *testing.T) {
	t.Parallel()
	e := sold()
	late := Order{Reservation: Reservation{RID: "r5", UserID: "dan", Slot: 1, Rank: 5}, State: OrderRejected, ShownState: OrderRejected, Reason: ReasonSuperseded}
	e.Orders = append(e.Orders, late)
	e.HandedOver = append(e.HandedOver, "r5")
	e.Releases = append(e.Releases, Release{RID: "r5", Status: StatusRejected, Reason: ReasonSuperseded})
	e.Redis.Rank, e.Redis.Served = 5, 5
	if v := Audit(e); !v.Pass || !v.AtRest {
		t.Errorf("%+v", v)
	}
}

// Of what Postgres takes no row there is a release and a dead letter.
func TestAudit_RejectedWithADeadLetterNeedsNoOrder(t *testing.T) {
	t.Parallel()
	e := sold()
	e.Rowless, e.Orders = []string{"r4"}, e.Orders[:3]
	if v := Audit(e); !v.Pass || !v.AtRest {
		t.Errorf("%+v", v)
	}
}

// Redis is told of changes by a loop.
func TestAudit_AChangeThatRedisWasNotToldIsUnderWay(t *testing.T) {
	t.Parallel()
	e := sold()
	e.Redis.Differs = []string{"paused is false, not true"}
	if v := Audit(e); v.AtRest || !v.Pass {
		t.Errorf("%+v", v)
	}
}

func TestAudit_AnUnfinishedAdjustmentIsUnderWay(t *testing.T) {
	t.Parallel()
	e := sold()
	e.Adjustments = append(e.Adjustments, AdjustmentRow{Adjustment: Adjustment{ID: "a3", Delta: -1}, State: AdjustmentIntended})
	e.Redis.Stock, e.Redis.Loaded, e.Redis.SoldOut = 0, 3, true // Redis has given it up
	e.Redis.Adjusted = append(e.Redis.Adjusted, Adjustment{ID: "a3", Delta: -1})
	if v := Audit(e); v.AtRest || !v.Pass {
		t.Fatalf("%+v", v)
	}
}

// A sale under way is not at rest, and what is under way is no violation.
func TestAudit_SaleUnderWayPasses(t *testing.T) {
	t.Parallel()
	e := sold()
	e.Still = false
	e.Redis.Stock, e.Redis.Accepted, e.Redis.HandOff = 0, 5, 1
	e.Redis.Tickets = append(e.Redis.Tickets, Ticket{Reservation: Reservation{RID: "r5", UserID: "dan", Slot: 1}, Status: StatusQueued})
	if v := Audit(e); !v.Pass || v.AtRest {
		t.Fatalf("under way: %+v", v)
	}
}

func TestAudit_PlantedViolations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, invariant, names string
		plant                  func(*Evidence)
	}{
		{"more orders than units", "I1", "2 orders", func(e *Evidence) { e.Total = 1 }},
		{"two holders of a slot", "I2", "ann", func(e *Evidence) { e.Orders[3].HoldsSlot = true }},
		{"slot above the limit", "I2", "bob", func(e *Evidence) { e.Orders[1].Slot = 2 }},
		{"two rows of one reservation", "I3", "r1", func(e *Evidence) { e.Orders = append(e.Orders, e.Orders[0]) }},
		{"a 202 that vanished", "I3", "r9", func(e *Evidence) { e.Client = append(e.Client, Seen{RID: "r9", Accepted: true}) }},
		{"handed over, never ordered", "I3", "r9", func(e *Evidence) { e.HandedOver = append(e.HandedOver, "r9"); e.Waited = true }},
		{"queued for ever", "I3", "dan", func(e *Evidence) {
			e.Redis.Tickets = append(e.Redis.Tickets, Ticket{Reservation: Reservation{RID: "r9", UserID: "dan"}, Status: StatusQueued})
			e.Waited = true
		}},
		{"closed without a row", "I3", "r9", func(e *Evidence) {
			e.Redis.Tickets = append(e.Redis.Tickets, Ticket{Reservation: Reservation{RID: "r9"}, Status: StatusRejected})
		}},
		{"left in handoff", "I3", "1 reservations", func(e *Evidence) { e.Redis.HandOff = 1; e.Waited = true }},
		{"held above total", "I4", "4 units", func(e *Evidence) { e.Held = 4 }},
		{"stock row drifted", "I4", "says 1", func(e *Evidence) { e.Held = 1 }},
		{"total drifted", "I4", "configured and adjustments make that -2", func(e *Evidence) { e.Configured = 4 }},
		{"adjustment that Redis forgot", "I4", "adjustment a1 is -2 units in Postgres, +0 in Redis", func(e *Evidence) { e.Redis.Adjusted = nil }},
		{"refused adjustment that Redis made", "I4", "adjustment a2 is -9 units in Redis, none in Postgres", func(e *Evidence) {
			e.Redis.Adjusted = append(e.Redis.Adjusted, Adjustment{ID: "a2", Delta: -9})
		}},
		{"adjustment never finished", "I4", "1 adjustments not finished", func(e *Evidence) {
			e.Adjustments = append(e.Adjustments, AdjustmentRow{Adjustment: Adjustment{ID: "a3", Delta: 1}, State: AdjustmentCounted})
			e.Total, e.Waited = 4, true
		}},
		{"stranded unit", "I4", "0 units in stock", func(e *Evidence) { e.Redis.Stock = 0 }},
		{"slot taken by nobody", "I2", "ghost#1", func(e *Evidence) { e.Redis.Buyers = append(e.Redis.Buyers, "ghost#1") }},
		{"slot that is held and free", "I2", "bob#1", func(e *Evidence) { e.Redis.Buyers = e.Redis.Buyers[:1] }},
		{"served too often", "I3", "9 reservations as served", func(e *Evidence) { e.Redis.Served = 9 }},
		{"answered 202 and superseded", "I3", "r2 was answered 202 and is rejected as superseded", func(e *Evidence) {
			e.Orders[1].State, e.Orders[1].ShownState, e.Orders[1].Reason = OrderRejected, OrderRejected, ReasonSuperseded
		}},
		{"flagged with stock", "I4", "flag is true", func(e *Evidence) { e.Redis.SoldOut = true }},
		{"rank of another", "I6", "rank 9", func(e *Evidence) { e.Orders[1].Rank = 9 }},
		{"given back twice", "I5", "r3", func(e *Evidence) { e.Releases = append(e.Releases, e.Releases[0]) }},
		{"gave more than a unit", "I5", "r3", func(e *Evidence) { e.Releases[0].Give = 2 }},
		{"counters do not add up", "I5", "5 accepted", func(e *Evidence) { e.Redis.Accepted = 5 }},
		{"Redis was given too much", "I5", "2 units", func(e *Evidence) { e.Redis.Given, e.Redis.Accepted = 2, 5 }},
		{"a release never applied", "I5", "0 units", func(e *Evidence) { e.Redis.Given, e.Redis.Accepted = 0, 3 }},
		{"gave back a held unit", "I5", "r3", func(e *Evidence) { e.Orders[2].HoldsUnit = true }},
		{"order from nowhere", "I6", "r2", func(e *Evidence) {
			e.HandedOver = []string{"r1", "r3", "r4"}
			e.Redis.Tickets = slices.Delete(e.Redis.Tickets, 1, 2)
		}},
		{"order of another buyer", "I6", "eve", func(e *Evidence) { e.Orders[1].UserID = "eve" }},
		{"status seen going back", "I7", "confirmed to queued", func(e *Evidence) {
			e.Client[0].Statuses = []Status{StatusConfirmed, StatusQueued, StatusConfirmed}
		}},
		{"seen further than the ticket", "I7", "paid to confirmed", func(e *Evidence) { e.Client[0].Statuses = []Status{StatusPaid} }},
		{"ticket says otherwise", "I7", "r2", func(e *Evidence) { e.Redis.Tickets[1].Status = StatusConfirmed }},
		{"ticket gone", "I7", "r2", func(e *Evidence) { e.Redis.Tickets = slices.Delete(e.Redis.Tickets, 1, 2) }},
		{"Redis offers a unit in flight", "I8", "offers 1", func(e *Evidence) { e.HandedOver = append(e.HandedOver, "r9") }},
		{"Redis offers too much", "I8", "offers 2", func(e *Evidence) { e.Redis.Stock = 2 }},
		{"closed order deleted", "I3", "r3 is released as expired and has no order row", func(e *Evidence) { e.Orders = slices.Delete(e.Orders, 2, 3) }},
		{"closed order deleted that has a dead letter", "I3", "r3 is released as expired and has no order row", func(e *Evidence) {
			e.Orders, e.Rowless = slices.Delete(e.Orders, 2, 3), []string{"r3"}
		}},
		{"rejected order deleted", "I3", "r4 is released as rejected and has no order row", func(e *Evidence) { e.Orders = e.Orders[:3] }},
		{"closed order without its release", "I5", "order r3 is expired and has no release", func(e *Evidence) { e.Releases = e.Releases[1:] }},
		{"release with another status", "I3", "the release of r3 closes it as cancelled, its order is expired", func(e *Evidence) { e.Releases[0].Status = StatusCancelled }},
		{"release with another reason", "I3", "closes it as rejected as surplus, its order is rejected as duplicate", func(e *Evidence) { e.Releases[1].Reason = ReasonSurplus }},
		{"release of an open order", "I3", "the release of r1 closes it as expired, its order is pending", func(e *Evidence) {
			e.Releases = append(e.Releases, Release{RID: "r1", Status: StatusExpired})
		}},
		{"closed order noted as shown otherwise", "I7", `order r3 is expired, what its ticket shows is noted as "pending"`, func(e *Evidence) { e.Orders[2].ShownState = OrderPending }},
		{"unpaid miscounted", "I3", "counts 7 reservations as unpaid, of its tickets 1 are", func(e *Evidence) { e.Redis.Unpaid = 7 }},
		{"slot that points to another's", "I2", "slot bob#1 point to r1, order r2 holds it", func(e *Evidence) { e.Redis.Slots["bob#1"] = "r1" }},
		{"free slot that points to another's", "I2", "slot cid#1 point to r1, a ticket of slot ann#1", func(e *Evidence) { e.Redis.Slots["cid#1"] = "r1" }},
		{"free slot that points to nobody's", "I2", "slot cid#1 point to r9, which has no ticket", func(e *Evidence) { e.Redis.Slots["cid#1"] = "r9" }},
		{"slot that points nowhere", "I2", "slot cid#1 point to nothing, ticket r3 is of it", func(e *Evidence) { delete(e.Redis.Slots, "cid#1") }},
		{"key of another", "I2", `key "bob\n" bound to r1, the ticket of key "ann\n"`, func(e *Evidence) { e.Redis.Keys["bob\n"] = "r1" }},
		{"key of nobody", "I2", `key "bob\nk" bound to r9, which has no ticket`, func(e *Evidence) { e.Redis.Keys["bob\nk"] = "r9" }},
		{"key that is bound no more", "I2", `key "bob\n" bound to nothing, ticket r2 is of it`, func(e *Evidence) { delete(e.Redis.Keys, "bob\n") }},
		{"no key, bound to what is closed", "I2", `key "cid\n" bound to r3, which is expired`, func(e *Evidence) { e.Redis.Keys["cid\n"] = "r3" }},
		{"configured otherwise", "I4", "Redis has the sale otherwise: per_user_limit is 2, not 1", func(e *Evidence) {
			e.Redis.Differs, e.Waited = []string{"per_user_limit is 2, not 1"}, true
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := sold()
			c.plant(&e)
			requireViolation(t, Audit(e), c.invariant, c.names)
		})
	}
}

// Everything broken at once: each invariant still has its own line.
func TestAudit_OneViolationHidesNoOther(t *testing.T) {
	t.Parallel()
	e := sold()
	e.Waited = true
	e.Total = 1
	e.Orders[3].HoldsSlot = true
	e.Redis.HandOff = 1
	e.Redis.Given = 7
	e.Orders = append(e.Orders, Order{Reservation: Reservation{RID: "r8", UserID: "fay"}, State: OrderPending})
	e.Redis.Tickets[1].Status = StatusQueued
	v := Audit(e)
	for _, invariant := range []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8"} {
		requireViolation(t, v, invariant, "")
	}
}

func TestAudit_ManyViolationsAreCounted(t *testing.T) {
	t.Parallel()
	e := sold()
	for i := range 100 {
		e.Client = append(e.Client, Seen{RID: fmt.Sprintf("lost-%d", i), Accepted: true})
	}
	v := Audit(e)
	if len(v.Violations) != MaxNamed+1 {
		t.Fatalf("%d violations listed, want %d and a count", len(v.Violations), MaxNamed)
	}
	requireViolation(t, v, "I3", "and 80 more")
}

func requireViolation(t *testing.T, v Verdict, invariant, names string) {
	t.Helper()
	if v.Pass {
		t.Fatal("a planted violation passed")
	}
	if !slices.ContainsFunc(v.Violations, func(x Violation) bool {
		return x.Invariant == invariant && strings.Contains(x.Detail, names)
	}) {
		t.Fatalf("no violation of %s that names %q in %+v", invariant, names, v.Violations)
	}
}

// paidSale is the evidence of sold, every order at a price: bob paid in time; cid paid late, got r3's
// replacement, paid once more and was paid back; ann's r4 was rejected and paid.
func paidSale() Evidence {
	const old = "01935fd2-d6eb-7592-aa3e-cd665a5d9b60"
	e := sold()
	e.PriceMinor, e.Currency = 100, "CNY"
	for i := range e.Orders {
		e.Orders[i].AmountMinor, e.Orders[i].Currency = 100, "CNY"
	}
	rename := func(rid *string) {
		if *rid == "r3" {
			*rid = old
		}
	}
	rename(&e.Orders[2].RID)
	rename(&e.Releases[0].RID)
	rename(&e.HandedOver[3])
	replacement := e.Orders[1]
	replacement.RID, replacement.UserID, replacement.Rank, replacement.Replaces = LateRID(old), "cid", 5, old
	e.Orders = append(e.Orders, replacement)
	e.giveTickets()
	e.Held, e.Redis.Stock, e.Redis.Accepted, e.Redis.Served, e.Redis.Rank, e.Redis.SoldOut = 3, 0, 5, 5, 5, true
	e.Redis.Buyers = append(e.Redis.Buyers, "cid#1")
	event := func(id, order string, kind PaymentType, result PaymentResult) Payment {
		return Payment{PaymentEvent: PaymentEvent{EventID: id, Type: kind, OrderID: order, AmountMinor: 100, Currency: "CNY"}, Result: result}
	}
	e.Payments = []Payment{
		event("e1", "r2", PaymentSucceeded, PaymentPaid), event("e2", old, PaymentSucceeded, PaymentReplaced),
		event("e3", LateRID(old), PaymentSucceeded, PaymentOwed), event("e4", old, RefundSucceeded, PaymentSettled),
		event("e5", "r4", PaymentSucceeded, PaymentOwed), event("e6", "r1", PaymentFailed, PaymentNoted),
	}
	e.RefundsOwed = []RefundOwed{
		{EventID: "e3", OrderID: LateRID(old), SettledAt: time.Unix(1, 0)}, {EventID: "e5", OrderID: "r4"},
	}
	e.RefundsOwed[0].Reason, e.RefundsOwed[1].Reason = OwedSecond, OwedRejected
	for i := range e.RefundsOwed {
		e.RefundsOwed[i].AmountMinor, e.RefundsOwed[i].Currency = 100, "CNY"
	}
	return e
}

func TestAudit_PaymentsHaveOneEffectEach(t *testing.T) {
	t.Parallel()
	if v := Audit(paidSale()); !v.Pass || !v.AtRest {
		t.Fatalf("clean sale: %+v", v)
	}
	for want, spoil := range map[string]func(*Evidence){
		"order r2 and what took its place: 1 are paid, by 0 payments":                   func(e *Evidence) { e.Payments = e.Payments[1:] },
		"order r2 and what took its place: 1 are paid, by 2 payments":                   func(e *Evidence) { e.Payments = append(e.Payments, e.Payments[0]) },
		"what took its place: 2 are paid":                                               func(e *Evidence) { e.Orders[2].State = OrderPaid },
		"0 are refunded, by 1 refunds":                                                  func(e *Evidence) { e.Payments[3].Result = PaymentRefunded },
		"order r4: 1 payments are owed and 0 of them settled, refunds owed are 0 and 0": func(e *Evidence) { e.RefundsOwed = e.RefundsOwed[:1] },
		"order r4: 1 payments are owed and 0 of them settled, refunds owed are 1 and 1": func(e *Evidence) { e.RefundsOwed[1].SettledAt = time.Unix(1, 0) },
		"which is expired and of user cid":                                              func(e *Evidence) { e.Orders[4].UserID = "eve" },
		"under a rid that is not of it":                                                 func(e *Evidence) { e.Orders[4].Replaces = "r1" },
		"which is not there":                                                            func(e *Evidence) { e.Orders[2].RID = "r9" },
		"order r2 is of 1 CNY, the price is 100 CNY":                                    func(e *Evidence) { e.Orders[1].AmountMinor = 1 },
		"order r1 is of 100 USD, the price is 100 CNY":                                  func(e *Evidence) { e.Orders[0].Currency = "USD" },
		"order r2 and what took its place: 1 are paid, by 0":                            func(e *Evidence) { e.Orders[1].AmountMinor, e.Payments = 0, e.Payments[1:] },
		"event e1 of 0 CNY is paid, its order r2 is of 100 CNY":                         func(e *Evidence) { e.Payments[0].AmountMinor = 0 },
		"event e1 of 100 USD is paid, its order r2 is of 100 CNY":                       func(e *Evidence) { e.Payments[0].Currency = "USD" },
		"event e1 of order r2 is a payment.failed, and its result is \"paid\"":          func(e *Evidence) { e.Payments[0].Type = PaymentFailed },
		"event e6 of 100 CNY has a wrong amount by its result": func(e *Evidence) {
			e.Payments[5].Type, e.Payments[5].Result = PaymentSucceeded, PaymentWrongAmount
		},
		"for payment event e5 is 1 CNY for order r4, the payment is 100 CNY":   func(e *Evidence) { e.RefundsOwed[1].AmountMinor = 1 },
		"for payment event e5 is 100 USD for order r4, the payment is 100 CNY": func(e *Evidence) { e.RefundsOwed[1].Currency = "USD" },
		"e5 of order r4 has the reason no_unit, which its order denies":        func(e *Evidence) { e.RefundsOwed[1].Reason = OwedNoUnit },
		"has the reason cancelled, which its order denies":                     func(e *Evidence) { e.RefundsOwed[0].Reason = OwedCancelled },
		"settled are not of the amounts that settled them":                     func(e *Evidence) { e.Payments[3].AmountMinor = 1 },
		"payment event e1 of order r2 is not applied": func(e *Evidence) {
			e.Payments[0].Result, e.Waited = PaymentWaits, true
		},
	} {
		e := paidSale()
		spoil(&e)
		v := Audit(e)
		if !slices.ContainsFunc(v.Violations, func(v Violation) bool { return v.Invariant == "I3" && strings.Contains(v.Detail, want) }) {
			t.Errorf("no violation %q among %+v", want, v.Violations)
		}
	}
	e := paidSale()
	e.Payments[0].Result = PaymentWaits
	if v := Audit(e); v.AtRest {
		t.Error("a sale with a payment to apply is at rest")
	}
}
