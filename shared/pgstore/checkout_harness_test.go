package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// tenOff takes 10.00 off any cart of at least 10.00, borne by two parties, and combines
// with itself but for its group.
func tenOff(group string) coupon.Snapshot {
	return coupon.Snapshot{Kind: coupon.KindAmount, Value: 1_000, MinAmountCents: 1_000, Terms: coupon.Terms{
		Scope: coupon.Scope{Merchants: []string{}, SKUs: []string{}, Categories: []string{}},
		Layer: coupon.LayerPlatform, Group: group, StackWith: []string{"a", "b", "c", "ship"},
		Bearers:  []coupon.Bearer{{Party: "platform", BPS: 7_000}, {Party: "merchant", BPS: 3_000}},
		Currency: "CNY", IfGone: coupon.GoneHonour,
	}}
}

// give makes an instance of a user's, as a claim would.
func give(t testing.TB, s *Store, user string, terms coupon.Snapshot) (id string) {
	t.Helper()
	id = newRID()
	encoded, err := json.Marshal(terms)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, s, `
		INSERT INTO coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at)
		VALUES ($1::text::uuid, $1, 'coupon-sale', $2, 1, $3::jsonb, coalesce(($3::jsonb ->> 'ends_at')::timestamptz, 'infinity'))`,
		id, user, string(encoded))
	return id
}

// cart costs 60.00 and 6.00 for shipping.
func cart() pricing.Cart {
	return pricing.Cart{Currency: "CNY",
		Lines: []pricing.Line{
			{ID: "1", Merchant: "m1", SKU: "cup", Category: "home", Quantity: 3, UnitPriceMinor: 1_000},
			{ID: "2", Merchant: "m2", SKU: "pan", Category: "home", Quantity: 1, UnitPriceMinor: 3_000},
		},
		Shipping: []pricing.Parcel{{Merchant: "m1", FeeMinor: 600}},
	}
}

func orderOf(user, id string) checkout.Order { return checkout.Order{UserID: user, OrderID: id} }

func lockOf(o checkout.Order, coupons ...string) checkout.Lock {
	return checkout.Lock{Order: o, CouponIDs: coupons, Cart: cart(), Hold: 15 * time.Minute}
}

// lock, like redeem and release, may be called at once.
func lock(t testing.TB, s *Store, l checkout.Lock) checkout.Locked {
	t.Helper()
	locked, err := s.LockCoupons(t.Context(), l)
	if err != nil {
		t.Error(err)
	}
	return locked
}

func redeem(t testing.TB, s *Store, o checkout.Order) checkout.Redeemed {
	t.Helper()
	redeemed, err := s.RedeemCoupons(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	return redeemed
}

func release(t testing.TB, s *Store, o checkout.Order) checkout.Released {
	t.Helper()
	released, err := s.ReleaseCoupons(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	return released
}

// passDeadline sets the deadline of a user's locks into the past, as time would.
func passDeadline(t testing.TB, s *Store, user string) {
	t.Helper()
	exec(t, s, `UPDATE coupons SET locked_until = now() - interval '1 second' WHERE user_id = $1 AND state = 'locked'`, user)
	exec(t, s, `UPDATE checkouts SET locked_until = now() - interval '1 second' WHERE user_id = $1 AND state = 'locked'`, user)
}

// endValidity sets the end of a coupon's time into the past, as time would.
func endValidity(t testing.TB, s *Store, id string) {
	t.Helper()
	exec(t, s, `
		UPDATE coupons SET ends_at = date_trunc('seconds', now()) - interval '1 second',
			snapshot = snapshot || jsonb_build_object('ends_at', to_char(now() AT TIME ZONE 'UTC' - interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
		WHERE id = $1::text::uuid`, id)
}

func instance(t testing.TB, s *Store, id string) coupon.Instance {
	t.Helper()
	coupons, err := read(t.Context(), s, scanCoupon, `SELECT `+couponColumns+` FROM coupons c WHERE c.id = $1::text::uuid`, id)
	if err != nil || len(coupons) != 1 {
		t.Fatalf("%d coupons %s, error %v", len(coupons), id, err)
	}
	return coupons[0]
}

// wantCoupon wants a coupon's state, the order that has it, and what has happened to it.
func wantCoupon(t testing.TB, s *Store, id string, state coupon.State, orderID string, events ...string) {
	t.Helper()
	c := instance(t, s, id)
	if c.State != state || c.OrderID != orderID {
		t.Errorf("coupon is %s of %q, want %s of %q", c.State, c.OrderID, state, orderID)
	}
	if got := fmt.Sprint(eventsOf(t, s, id)); got != fmt.Sprint(events) {
		t.Errorf("events = %s, want %v", got, events)
	}
}

// eventsOf are like "lock o-1".
func eventsOf(t testing.TB, s *Store, id string) []string {
	t.Helper()
	var events []string
	err := s.pool.QueryRow(t.Context(), `
		SELECT coalesce(array_agg(rtrim(event || ' ' || order_id) ORDER BY id), '{}') FROM coupon_events WHERE coupon_id = $1::text::uuid`, id).Scan(&events)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func wantWhy(t testing.TB, err error, id string, why checkout.Why) {
	t.Helper()
	var refused *checkout.CouponError
	if !errors.As(err, &refused) || refused.CouponID != id || refused.Why != why {
		t.Errorf("error = %v, want coupon %s refused as %s", err, id, why)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// ledgerSum is what the parties of an order bear, by event.
func ledgerSum(t testing.TB, s *Store, o checkout.Order) map[string]int64 {
	t.Helper()
	type row struct {
		Event string
		Sum   int64
	}
	rows, err := read(t.Context(), s, pgx.RowToStructByName[row], `
		SELECT event, sum(amount)::bigint AS sum FROM coupon_ledger WHERE user_id = $1 AND order_id = $2 GROUP BY event`, o.UserID, o.OrderID)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, r := range rows {
		sums[r.Event] = r.Sum
	}
	return sums
}
