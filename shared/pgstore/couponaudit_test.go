package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
	"sluice/shared/sale"
)

// used is a sale of ten coupons with everything that can become of one.
type used struct {
	*Store
	coupons map[string]string // of each user
}

// claimedBy makes a coupon of the sale for each user, with these terms.
func claimedBy(t *testing.T, s *Store, saleID string, users map[string]func(*coupon.Snapshot)) used {
	t.Helper()
	u := used{s, map[string]string{}}
	for user, change := range users {
		r := reservation(user, 1, int64(len(u.coupons)+1))
		order(t, s, Batch{SaleID: saleID, Epoch: 1, Currency: "EUR", Reservations: []sale.Reservation{r}})
		terms := tenOff("a")
		change(&terms)
		exec(t, s, `UPDATE coupons SET snapshot = $2::text::jsonb, ends_at = 'infinity' WHERE id = $1::text::uuid`, r.RID, asJSON(t, terms))
		u.coupons[user] = r.RID
	}
	return u
}

func asClaimed(*coupon.Snapshot) {}

func returned(s *coupon.Snapshot) { s.ReturnOnFullRefund = true }

func ifGone(what coupon.IfGone) func(*coupon.Snapshot) {
	return func(s *coupon.Snapshot) { s.IfGone = what }
}

func usedCoupons(t *testing.T) used {
	t.Helper()
	s := newStore(t)
	claimable(t, s, "claims", "newcomer", 12, 11)
	u := claimedBy(t, s, "claims", map[string]func(*coupon.Snapshot){
		"part-refund": asClaimed, "full-refund": returned, "honoured": ifGone(coupon.GoneHonour), "topped-up": ifGone(coupon.GoneTopUp),
		"shipped": func(s *coupon.Snapshot) { *s = ship() }, "refused": ifGone(coupon.GoneRefund), "locked": asClaimed, "late": asClaimed, "void": asClaimed, "issued": asClaimed, "expired": asClaimed,
	})
	// Beside one of another template, of which a party bears two parts, and again after it came back.
	part, other := orderOf("part-refund", "o-1"), tenOff("b")
	other.Bearers = append([]coupon.Bearer{{Party: "merchant", BPS: 1_000}, {Party: "platform", BPS: 6_000}}, other.Bearers[1])
	lock(t, s, lockOf(part, u.coupons["part-refund"], give(t, s, "part-refund", other)))
	redeem(t, s, part)
	refund(t, s, checkout.Refund{Order: part, RefundID: "r-1", Lines: []checkout.RefundLine{units("1", 1)}})
	full := u.redeemed(t, "full-refund", "o-1")
	refund(t, s, allOfIt(full, "r-1"))
	u.redeemed(t, "full-refund", "o-2")

	// With a parcel of no merchant.
	shipped := orderOf("shipped", "o-1")
	parcels := lockOf(shipped, u.coupons["shipped"])
	parcels.Cart.Shipping = append(parcels.Cart.Shipping, pricing.Parcel{FeeMinor: 300})
	lock(t, s, parcels)
	redeem(t, s, shipped)
	refund(t, s, checkout.Refund{Order: shipped, RefundID: "r-1", Shipping: true})

	// Gone when the order is redeemed.
	for _, user := range []string{"honoured", "topped-up", "refused"} {
		first := orderOf(user, "o-1")
		lock(t, s, lockOf(first, u.coupons[user]))
		passDeadline(t, s, user)
		u.redeemed(t, user, "o-2")
		redeem(t, s, first)
	}
	refund(t, s, checkout.Refund{Order: orderOf("honoured", "o-1"), RefundID: "r-1", Lines: []checkout.RefundLine{units("2", 1)}, Shipping: true})

	late := orderOf("late", "o-1")
	lock(t, s, lockOf(late, u.coupons["late"]))
	passDeadline(t, s, "late")
	if n, err := s.LapseLocks(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("%d lapsed, error %v", n, err)
	}
	redeem(t, s, late)
	lock(t, s, lockOf(orderOf("locked", "o-1"), u.coupons["locked"]))
	if _, err := s.VoidCoupon(t.Context(), sale.Actor{Who: "admin", Address: "127.0.0.1"}, u.coupons["void"]); err != nil {
		t.Fatal(err)
	}
	endValidity(t, s, u.coupons["expired"])
	if n, err := s.ExpireCoupons(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("%d expired, error %v", n, err)
	}
	return u
}

func (u used) redeemed(t *testing.T, user, orderID string) checkout.Order {
	t.Helper()
	o := orderOf(user, orderID)
	lock(t, u.Store, lockOf(o, u.coupons[user]))
	redeem(t, u.Store, o)
	return o
}

func TestAuditCoupons_OfWhatTheCallsDoHasNoFault(t *testing.T) {
	t.Parallel()
	u := usedCoupons(t)
	for name, read := range map[string]func(context.Context, string) (sale.CouponEvidence, error){"audit": u.AuditCoupons, "holdings": u.CouponHoldings} {
		e, err := read(t.Context(), "claims")
		if err != nil {
			t.Fatal(err)
		}
		want := sale.CouponEvidence{TemplateID: "newcomer", Total: 12, Issued: 11, Units: 11, Holding: 11, Instances: 11, Redeemed: 7, Redemptions: 8, Returns: 1}
		if got := asJSON(t, e); got != asJSON(t, want) {
			t.Errorf("%s: %s, want %s", name, got, asJSON(t, want))
		}
	}
	loaded(t, u.Store, "goods", 3)
	if e, err := u.AuditCoupons(t.Context(), "goods"); err != nil || asJSON(t, e) != asJSON(t, sale.CouponEvidence{}) {
		t.Errorf("of goods: %+v, %v", e, err)
	}
	if _, err := u.AuditCoupons(t.Context(), "nothing"); !errors.Is(err, ErrNoSale) {
		t.Errorf("of no sale: %v", err)
	}
}

// Each is planted by SQL. The rules are those that it breaks, by the audit; of these
// holdings leave out quote and shares.
func TestAuditCoupons_FindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	u := usedCoupons(t)
	const ofUser = ` WHERE user_id = $1 AND template_id = 'newcomer'`
	const ofOrder = ` WHERE user_id = $1 AND order_id = 'o-1'`
	for name, c := range map[string]struct {
		user  string
		plant string
		want  []sale.CouponRule
	}{
		"an order that let go of its unit": {"issued", `UPDATE orders SET state = 'refunded', shown_state = 'refunded', holds_unit = false WHERE user_id = $1`, rules(sale.CouponTraces)},
		"a coupon without an order":        {"issued", `DELETE FROM orders WHERE user_id = $1`, rules(sale.CouponTraces)},
		"an order without its coupon":      {"issued", `DELETE FROM coupons` + ofUser, rules(sale.CouponIsThere)},
		"a coupon of another template":     {"issued", `UPDATE coupons SET template_id = 'other'` + ofUser, rules(sale.CouponIsThere)},
		"a coupon of another user":         {"issued", `UPDATE coupons SET user_id = 'somebody'` + ofUser, rules(sale.CouponSameOwner)},
		"a coupon of another slot":         {"issued", `UPDATE coupons SET slot = 2` + ofUser, rules(sale.CouponSameOwner)},
		"a coupon of another sale":         {"issued", `UPDATE coupons SET sale_id = 'other'` + ofUser, rules(sale.CouponSameOwner)},

		"expired by hand":        {"issued", `UPDATE coupons SET state = 'expired'` + ofUser, rules(sale.CouponState)},
		"released by hand":       {"locked", `UPDATE coupons SET state = 'issued', order_id = NULL, locked_until = NULL` + ofUser, rules(sale.CouponState)},
		"locked by hand":         {"issued", `UPDATE coupons SET state = 'locked', order_id = 'o-9', locked_until = now() + interval '1 hour'` + ofUser, rules(sale.CouponState)},
		"given to another order": {"late", `UPDATE coupons SET order_id = 'o-9'` + ofUser, rules(sale.CouponState)},
		"brought back by hand":   {"void", `UPDATE coupons SET state = 'issued'` + ofUser, rules(sale.CouponState)},
		"another cycle":          {"issued", `UPDATE coupons SET cycle = 2` + ofUser, rules(sale.CouponState, sale.CouponUse)},
		"returned by hand":       {"late", `UPDATE coupons SET state = 'issued', order_id = NULL` + ofUser, rules(sale.CouponState, sale.CouponUse)},
		"returned twice": {"full-refund", `INSERT INTO coupon_events (coupon_id, cycle, event, order_id) SELECT id, 3, 'return', 'o-1' FROM coupons` + ofUser,
			rules(sale.CouponState, sale.CouponUse)},
		"redeemed twice": {"late", `INSERT INTO coupon_events (coupon_id, cycle, event, order_id) SELECT id, 2, 'redeem', 'o-9' FROM coupons` + ofUser,
			rules(sale.CouponState, sale.CouponUse, sale.CheckoutAnswers)},
		"a redemption that nobody knows of": {"late", `DELETE FROM coupon_events WHERE coupon_id = (SELECT id FROM coupons` + ofUser + `) AND event = 'late_redeem'`,
			rules(sale.CouponState, sale.CouponUse, sale.CheckoutAnswers)},
		"a lock past its deadline": {"locked", `UPDATE coupons SET locked_until = now() - interval '61 seconds'` + ofUser, rules(sale.CouponLapses)},
		"a lock just past it":      {"locked", `UPDATE coupons SET locked_until = now() - interval '59 seconds'` + ofUser, nil},

		"a redemption that was not told": {"late", `UPDATE checkouts SET result = jsonb_set(result, '{redeemed}', '[]')` + ofOrder,
			rules(sale.CheckoutAnswers, sale.CheckoutQuote, sale.CheckoutGiven, sale.LedgerShares)},
		"a return that was not told": {"full-refund", `UPDATE checkout_refunds SET answer = jsonb_set(answer, '{returned}', '[]')` + ofOrder, rules(sale.CheckoutAnswers)},
		"a return that was told and did not happen": {"part-refund",
			`UPDATE checkout_refunds SET answer = jsonb_set(answer, '{returned}', (SELECT jsonb_agg(id) FROM coupons` + ofUser + `))` + ofOrder, rules(sale.CheckoutAnswers)},
		"another discount that was told": {"late", `UPDATE checkouts SET result = jsonb_set(result, '{redeemed,0,discount}', '999')` + ofOrder,
			rules(sale.CheckoutQuote, sale.CheckoutGiven)},
		"another discount of a line":    {"late", `UPDATE checkouts SET quote = jsonb_set(quote, '{lines,0,discount}', '1')` + ofOrder, rules(sale.CheckoutQuote)},
		"another discount of a coupon":  {"late", `UPDATE checkouts SET quote = jsonb_set(quote, '{coupons,0,discount}', '1')` + ofOrder, rules(sale.CheckoutQuote)},
		"another discount of the whole": {"late", `UPDATE checkouts SET quote = jsonb_set(quote, '{discount}', '1')` + ofOrder, rules(sale.CheckoutQuote)},
		"another discount of a parcel":  {"late", `UPDATE checkouts SET quote = jsonb_set(quote, '{shipping,0,discount}', '1')` + ofOrder, rules(sale.CheckoutQuote)},
		"another share":                 {"late", `UPDATE checkouts SET shares = jsonb_set(shares, '{0,discount}', '1')` + ofOrder, rules(sale.CheckoutQuote, sale.LedgerShares)},
		"a share of another party":      {"late", `UPDATE checkouts SET shares = jsonb_set(shares, '{0,party}', '"x"')` + ofOrder, rules(sale.LedgerShares)},

		"a row of the ledger gone":         {"late", `DELETE FROM coupon_ledger` + ofOrder + ` AND part_id = '1' AND party = 'platform'`, rules(sale.CheckoutGiven, sale.LedgerShares)},
		"an honoured discount not borne":   {"honoured", `UPDATE coupon_ledger SET amount = amount - 1` + ofOrder + ` AND part_id = '1' AND party = 'platform' AND event = 'honour'`, rules(sale.CheckoutGiven, sale.LedgerShares)},
		"an amount on another line":        {"late", `UPDATE coupon_ledger SET amount = amount + CASE part_id WHEN '1' THEN 1 ELSE -1 END` + ofOrder + ` AND party = 'platform'`, rules(sale.LedgerShares)},
		"an amount of another party":       {"late", `UPDATE coupon_ledger SET amount = amount + CASE party WHEN 'platform' THEN 1 ELSE -1 END` + ofOrder + ` AND part_id = '1'`, rules(sale.LedgerShares)},
		"a fee on another merchant":        {"shipped", `UPDATE coupon_ledger SET part_id = 'm2'` + ofOrder + ` AND event = 'redeem' AND part_id = 'm1'`, rules(sale.LedgerShares, sale.LedgerReversed)},
		"another currency":                 {"late", `UPDATE coupon_ledger SET currency = 'USD'` + ofOrder, rules(sale.LedgerShares)},
		"another event":                    {"late", `UPDATE coupon_ledger SET event = 'honour'` + ofOrder, rules(sale.LedgerShares)},
		"what was topped up given as well": {"topped-up", given("o-1", "redeem", ""), rules(sale.CheckoutGiven, sale.LedgerShares)},
		"what was refused given as well":   {"refused", given("o-1", "redeem", ""), rules(sale.CheckoutGiven, sale.LedgerShares)},
		"a discount of a lock":             {"locked", given("o-1", "redeem", ""), rules(sale.CheckoutGiven, sale.LedgerShares)},
		"a discount of an unknown order":   {"issued", given("o-9", "redeem", ""), rules(sale.CheckoutGiven, sale.LedgerShares)},

		"reversed and never given":          {"late", given("o-1", "refund", "r-9"), rules(sale.LedgerReversed, sale.LedgerRefunds)},
		"reversed once more":                {"part-refund", `UPDATE coupon_ledger SET amount = amount * 100` + ofOrder + ` AND event = 'refund'`, rules(sale.LedgerReversed, sale.LedgerRefunds)},
		"a full refund that left something": {"full-refund", `UPDATE coupon_ledger SET amount = amount + 1` + ofOrder + ` AND event = 'refund' AND part_id = '1' AND party = 'platform'`, rules(sale.LedgerReversed, sale.LedgerRefunds)},
		"a full refund not reversed":        {"full-refund", `DELETE FROM coupon_ledger` + ofOrder + ` AND event = 'refund'`, rules(sale.LedgerReversed, sale.LedgerRefunds)},
		"a reversal in another cycle":       {"full-refund", `UPDATE coupon_ledger SET cycle = 2` + ofOrder + ` AND event = 'refund'`, rules(sale.LedgerReversed)},
		"a refund told otherwise":           {"part-refund", `UPDATE checkout_refunds SET answer = jsonb_set(answer, '{bearers,0,discount}', '1')` + ofOrder, rules(sale.LedgerRefunds)},
		"a refund of other parts":           {"honoured", `UPDATE checkout_refunds SET answer = jsonb_set(answer, '{lines,0,discount}', '1')` + ofOrder, rules(sale.LedgerRefunds)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, within := range []span{ever, lastHour} {
				want := c.want
				if within == lastHour {
					want = slices.DeleteFunc(slices.Clone(want), func(r sale.CouponRule) bool { return r == sale.CheckoutQuote || r == sale.LedgerShares })
				}
				u.wantBroken(t, within, want, c.plant, c.user)
			}
		})
	}
}

func rules(broken ...sale.CouponRule) []sale.CouponRule { return broken }

// given has a party bear something of a user's coupon, or no longer.
func given(orderID, event, refundID string) string {
	sign := ""
	if event == "refund" {
		sign = "-"
	}
	return `INSERT INTO coupon_ledger (coupon_id, cycle, user_id, order_id, part, part_id, party, amount, currency, event, refund_id)
		SELECT id, cycle, user_id, '` + orderID + `', 'line', '1', 'nobody', ` + sign + `5, 'CNY', '` + event + `', '` + refundID + `'
		FROM coupons WHERE user_id = $1 AND template_id = 'newcomer'`
}

// wantBroken plants something for the time of a look, and wants these rules broken.
func (u used) wantBroken(t *testing.T, within span, want []sale.CouponRule, plant, user string) {
	t.Helper()
	tx, err := u.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	tag, err := tx.Exec(t.Context(), plant, user)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%v: %s", err, tag)
	}
	e, err := couponsOfSale(t.Context(), tx, "claims", within)
	if err != nil {
		t.Fatal(err)
	}
	var broken []sale.CouponRule
	for _, f := range e.Faults {
		broken = append(broken, f.Rule)
		if f.Count < 1 || int64(len(f.Named)) != f.Count || strings.Contains(f.Named[0], "<NULL>") {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(broken, want) {
		t.Errorf("within %q: broken are %v, want %v: %+v", within, broken, want, e.Faults)
	}
}

func TestAuditCoupons_NamesSomeAndCountsAll(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "claims", "newcomer", 30, 30)
	order(t, s, Batch{SaleID: "claims", Epoch: 1, Currency: "EUR", Reservations: reservations(30)})
	exec(t, s, `UPDATE coupons SET state = 'void'`)
	e, err := s.AuditCoupons(t.Context(), "claims")
	if err != nil || len(e.Faults) != 1 || e.Faults[0].Count != 30 || len(e.Faults[0].Named) != sale.MaxNamed || e.Broken(sale.CouponState) != 30 {
		t.Fatalf("%+v, %v", e, err)
	}
	if detail := e.Faults[0].Named[0]; !strings.HasSuffix(detail, "is void of order - in cycle 1, its last event is claim of order - in cycle 1") {
		t.Error(detail)
	}
}

// Reconciliations come every few seconds: they leave old orders to the audit.
func TestCouponHoldings_LookAtOrdersOfTheLastHour(t *testing.T) {
	t.Parallel()
	u := usedCoupons(t)
	exec(t, u.Store, `UPDATE coupon_events SET at = at - interval '61 minutes'`)
	exec(t, u.Store, `UPDATE coupon_ledger SET at = at - interval '61 minutes', amount = amount + 1 WHERE user_id = 'late'`)
	exec(t, u.Store, `UPDATE coupon_ledger SET at = at - interval '61 minutes' WHERE user_id <> 'late'`)
	now, err := u.CouponHoldings(t.Context(), "claims")
	if err != nil || len(now.Faults) != 0 {
		t.Errorf("holdings: %+v, %v", now.Faults, err)
	}
	ever, err := u.AuditCoupons(t.Context(), "claims")
	if err != nil || ever.Broken(sale.CheckoutGiven) != 1 {
		t.Errorf("audit: %+v, %v", ever.Faults, err)
	}
}

func TestCouponHoldings_LookAtCouponsThatChangedInTheLastHour(t *testing.T) {
	t.Parallel()
	u := usedCoupons(t)
	exec(t, u.Store, `UPDATE coupons SET changed_at = now() - interval '61 minutes' WHERE user_id IN ('full-refund', 'issued')`)
	exec(t, u.Store, `UPDATE coupons SET state = 'void', cycle = 7 WHERE user_id = 'issued'`)
	now, err := u.CouponHoldings(t.Context(), "claims")
	want := sale.CouponEvidence{TemplateID: "newcomer", Total: 12, Issued: 11, Units: 11, Holding: 11, Instances: 11, Redeemed: 6, Redemptions: 6}
	if err != nil || asJSON(t, now) != asJSON(t, want) {
		t.Errorf("holdings: %s, want %s, %v", asJSON(t, now), asJSON(t, want), err)
	}
	ever, err := u.AuditCoupons(t.Context(), "claims")
	if err != nil || ever.Redeemed != 7 || ever.Broken(sale.CouponState, sale.CouponUse) != 2 {
		t.Errorf("audit: %+v, %v", ever, err)
	}
}
