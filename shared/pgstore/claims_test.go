package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// claimTerms are the terms of the templates here.
func claimTerms() coupon.Terms {
	return coupon.Terms{
		Scope: coupon.Scope{Merchants: []string{}, SKUs: []string{"S-1"}, Categories: []string{}},
		Layer: coupon.LayerPlatform, Group: "newcomer", StackWith: []string{}, Currency: "EUR",
		Bearers:            []coupon.Bearer{{Party: "platform", BPS: 7000}, {Party: "merchant", BPS: 3000}},
		EndsAt:             time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		ReturnOnFullRefund: true, IfGone: coupon.GoneTopUp,
	}
}

// claimable makes a template of total coupons, and a sale of units of it at epoch 1.
func claimable(t testing.TB, s *Store, saleID, templateID string, total, units int64) {
	t.Helper()
	c := config(saleID, units)
	c.Kind, c.Template, c.SKU, c.PriceMinor, c.Currency = sale.KindCoupon, templateID, templateID, 0, "EUR"
	rule := coupon.Rule{
		Template: coupon.Template{ID: templateID, Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Total: total},
		Terms:    claimTerms(),
	}
	if _, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{rule}, Sales: []SaleConfig{c}}); err != nil {
		t.Fatal(err)
	}
	entry, err := s.BeginLoad(t.Context(), saleID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishLoad(t.Context(), saleID, entry.Epoch); err != nil {
		t.Fatal(err)
	}
}

// wantIssued wants the template's count, its instances and the sale's units held to be n.
func wantIssued(t testing.TB, s *Store, saleID, templateID string, n int64) {
	t.Helper()
	wantHeld(t, s, saleID, n)
	var issued, instances, paired int64
	err := s.pool.QueryRow(t.Context(), `
		SELECT issued, (SELECT count(*) FROM coupons c WHERE c.template_id = $1),
			(SELECT count(*) FROM coupons c JOIN orders o ON o.id = c.id AND o.sale_id = c.sale_id AND o.user_id = c.user_id AND o.slot = c.slot
			 WHERE c.template_id = $1 AND o.state = 'paid' AND o.shown_state = 'paid' AND o.amount = 0 AND o.currency = 'EUR' AND o.expires_at IS NULL
				AND c.state = 'issued' AND c.cycle = 1)
		FROM coupon_templates WHERE template_id = $1`, templateID).Scan(&issued, &instances, &paired)
	if err != nil {
		t.Fatal(err)
	}
	if issued != n || instances != n || paired != n {
		t.Errorf("issued %d, %d instances, %d with their paid orders; want %d", issued, instances, paired, n)
	}
}

func wantSnapshot(t testing.TB, s *Store, rid string, want coupon.Snapshot) {
	t.Helper()
	var text string
	var ends time.Time
	if err := s.pool.QueryRow(t.Context(), `SELECT snapshot::text, ends_at FROM coupons WHERE id = $1::text::uuid`, rid).Scan(&text, &ends); err != nil {
		t.Fatal(err)
	}
	var got coupon.Snapshot
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if !ends.Equal(want.EndsAt) {
		t.Errorf("ends at %v, want %v", ends, want.EndsAt)
	}
}

func pausedNow(t testing.TB, s *Store, saleID string) (paused bool, rev int64) {
	t.Helper()
	e, err := s.Entry(t.Context(), saleID)
	if err != nil {
		t.Fatal(err)
	}
	return e.Paused, e.Rev
}

func TestClaim_MakesThePaidOrderTheCouponAndTheCountTogether(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	rs := reservations(3)
	b := batchOf("coupons", rs...) // with a price that it must not believe

	result, ordinary, err := s.orderAtOnce(t.Context(), b)
	if err != nil || !ordinary {
		t.Fatalf("decided at once: %v, error %v", ordinary, err)
	}
	wantCounts(t, result, 3, 0, 0, 0)
	for _, v := range result.Verdicts {
		if v.State != sale.OrderPaid || !v.PayBy.IsZero() || v.Fate != FateOrdered {
			t.Errorf("verdict %+v", v)
		}
	}
	wantIssued(t, s, "coupons", "newcomer", 3)
	wantSnapshot(t, s, rs[0].RID, coupon.Snapshot{Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Terms: claimTerms()})
}

func TestClaim_KnownDuplicateAndNewInOneBatchAreDecidedWithCare(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	known, next := reservation("ann", 1, 1), reservation("bob", 1, 3)
	double := reservation("ann", 1, 2)
	order(t, s, batchOf("coupons", known))

	b := batchOf("coupons", known, double, next)
	result := order(t, s, b)
	wantCounts(t, result, 1, 1, 1, 0)
	for rid, want := range map[string]sale.OrderState{known.RID: sale.OrderPaid, next.RID: sale.OrderPaid, double.RID: sale.OrderRejected} {
		if v := verdictOf(t, result, rid); v.State != want || !v.PayBy.IsZero() {
			t.Errorf("verdict %+v, want %s", v, want)
		}
	}
	wantIssued(t, s, "coupons", "newcomer", 2)
	wantCounts(t, order(t, s, b), 0, 3, 0, 0)
	wantIssued(t, s, "coupons", "newcomer", 2)
}

func TestClaim_SnapshotIsTheTemplateAsItWasThen(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	rs := reservations(3)
	before := coupon.Snapshot{Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Terms: claimTerms()}
	order(t, s, batchOf("coupons", rs[0]))
	exec(t, s, `UPDATE coupon_templates SET kind = 'percent', value = 80, min_amount = 0, terms = terms || '{"group": "later", "cap": 500}'`)
	order(t, s, batchOf("coupons", rs[0], rs[1])) // with care
	order(t, s, batchOf("coupons", rs[2]))        // at once

	after := coupon.Snapshot{Kind: coupon.KindPercent, Value: 80, Terms: claimTerms()}
	after.Group, after.CapMinor = "later", 500
	wantSnapshot(t, s, rs[0].RID, before)
	wantSnapshot(t, s, rs[1].RID, after)
	wantSnapshot(t, s, rs[2].RID, after)
	exec(t, s, `UPDATE coupon_templates SET terms = terms - 'ends_at'`)
	order(t, s, batchOf("coupons", reservation("zoe", 1, 9)))
	var forever int
	if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM coupons WHERE ends_at = 'infinity'`).Scan(&forever); err != nil || forever != 1 {
		t.Errorf("%d coupons without an end, error %v", forever, err)
	}
}

func TestClaim_TemplateThatRefusesAdmitsTheLowestRanksAndPausesTheSale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "phone", "newcomer", 5, 5)
	rs := reservations(5)
	exec(t, s, `UPDATE coupon_templates SET total = 3`) // by somebody's hand
	_, rev := pausedNow(t, s, "phone")

	result := order(t, s, batchOf("phone", rs[4], rs[0], rs[3], rs[2], rs[1]))
	wantCounts(t, result, 3, 0, 0, 2)
	for i, r := range rs {
		if v := verdictOf(t, result, r.RID); (v.Fate == FateOrdered) != (i < 3) {
			t.Errorf("rank %d: %+v", i+1, v)
		}
	}
	wantIssued(t, s, "phone", "newcomer", 3)
	wantSurplusReleases(t, s, rs[3].RID, rs[4].RID)
	if paused, now := pausedNow(t, s, "phone"); !paused || now != rev+1 {
		t.Errorf("paused: %v, rev %d, was %d", paused, now, rev)
	}
	log, err := s.AuditLog(t.Context(), "phone", sale.Page{Limit: 10})
	if err != nil || len(log) != 1 || log[0].By.Who != fulfiller || log[0].Action != sale.ActionPause || log[0].Subject != "newcomer" {
		t.Errorf("audit log %+v, error %v", log, err)
	}
	wantCounts(t, order(t, s, batchOf("phone", rs...)), 0, 5, 0, 0)
	wantCounts(t, order(t, s, batchOf("phone", reservation("zoe", 1, 9))), 0, 0, 0, 1)
	wantIssued(t, s, "phone", "newcomer", 3)
	if _, now := pausedNow(t, s, "phone"); now != rev+1 {
		t.Errorf("paused once more: rev %d", now)
	}
}

func TestClaim_StockThatRefusesMakesNoCouponAndDoesNotPause(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "phone", "newcomer", 10, 2)
	rs := reservations(4)
	wantCounts(t, order(t, s, batchOf("phone", rs...)), 2, 0, 0, 2)
	wantIssued(t, s, "phone", "newcomer", 2)
	wantSurplusReleases(t, s, rs[2].RID, rs[3].RID)
	if paused, _ := pausedNow(t, s, "phone"); paused {
		t.Error("paused, though the template has coupons left")
	}
}

func TestClaim_SupersededInvalidAndRetiredMakeNoCoupon(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	entry, err := s.BeginLoad(t.Context(), "coupons", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetLastSequence(t.Context(), "coupons", entry.Epoch, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishLoad(t.Context(), "coupons", entry.Epoch); err != nil {
		t.Fatal(err)
	}
	rs := reservations(2)
	b := batchOf("coupons", rs...)
	b.Sequences = []uint64{5, 6}
	if r := order(t, s, b); r.Ordered != 1 || r.Superseded != 1 {
		t.Errorf("%d ordered, %d superseded", r.Ordered, r.Superseded)
	}
	bad := reservation("", 1, 3)
	b = batchOf("coupons", bad)
	b.Epoch = entry.Epoch
	_, err = s.Order(t.Context(), b)
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("error %v, want ErrInvalid", err)
	}
	if v, err := s.Reject(t.Context(), b, 7, err); err != nil || v.Fate != FateInvalid {
		t.Errorf("verdict %+v, error %v", v, err)
	}
	wantIssued(t, s, "coupons", "newcomer", 1)
}

func TestClaim_CouponThatIsInTheWayIsInvalidAndMovesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	first, second := reservation("ann", 1, 1), reservation("ann", 1, 2)
	order(t, s, batchOf("coupons", first))
	// Nothing does this: the slot is free again and its coupon is there.
	exec(t, s, `UPDATE orders SET holds_slot = false, holds_unit = false, state = 'refunded'`)
	exec(t, s, `UPDATE sale_stock SET held = 0`)
	if _, err := s.Order(t.Context(), batchOf("coupons", second)); !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	var issued, instances int
	err := s.pool.QueryRow(t.Context(), `SELECT (SELECT issued FROM coupon_templates), (SELECT count(*) FROM coupons)`).Scan(&issued, &instances)
	if err != nil || issued != 1 || instances != 1 {
		t.Errorf("issued %d, %d instances, error %v", issued, instances, err)
	}
}

func TestClaim_FiftyAtATimeNeverGiveOutMoreThanTheTemplateHas(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	claimable(t, s, "coupons", "newcomer", 100, 100)
	exec(t, s, `UPDATE coupon_templates SET total = 90`) // below the sale's: the template must refuse
	rs := reservations(120)
	ctx, cancel := context.WithCancel(t.Context())
	var claims, watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil {
			var issued, instances, held int64
			err := s.pool.QueryRow(t.Context(), `
				SELECT (SELECT issued FROM coupon_templates), (SELECT count(*) FROM coupons), (SELECT held FROM sale_stock)`).
				Scan(&issued, &instances, &held)
			if err != nil || issued != instances || held != issued || issued > 90 {
				t.Errorf("issued %d, %d instances, %d held, error %v", issued, instances, held, err)
				return
			}
		}
	})
	for n := range 50 {
		claims.Go(func() {
			if _, err := s.Order(t.Context(), batchOf("coupons", rs[2*n:2*n+20]...)); err != nil { // overlapping
				t.Errorf("claim %d: %v", n, err)
			}
		})
	}
	claims.Wait()
	cancel()
	watch.Wait()
	wantIssued(t, s, "coupons", "newcomer", 90)
	if paused, _ := pausedNow(t, s, "coupons"); !paused {
		t.Error("not paused")
	}
}

func TestClaim_CannotBeCancelledDoesNotExpireAndAPaymentIsOwed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	rs := reservations(2)
	order(t, s, batchOf("coupons", rs...))
	if o, cancelled, found, err := s.Cancel(t.Context(), rs[0].UserID, rs[0].RID); err != nil || !found || cancelled || o.State != sale.OrderPaid {
		t.Errorf("%+v, cancelled %v, found %v, error %v", o, cancelled, found, err)
	}
	if expired, err := s.Expire(t.Context(), "coupons", 10); err != nil || expired != 0 {
		t.Errorf("%d expired, error %v", expired, err)
	}
	pays := success(rs[0])
	wantPayment(t, s, pays, sale.PaymentOwed, sale.OwedSecond)
	wantPayment(t, s, refundOf(rs[0], true), sale.PaymentSettled, "")
	wantPayment(t, s, refundOf(rs[0], true), sale.PaymentNotPaid, "")
	free := refundOf(rs[1], true)
	free.AmountMinor, free.Currency = 0, "EUR"
	wantPayment(t, s, free, sale.PaymentWaits, "")
	if list := owed(t, s); len(list) != 1 || list[0].AmountMinor != pays.AmountMinor || list[0].SettledAt.IsZero() {
		t.Errorf("owed %+v", list)
	}
	wantIssued(t, s, "coupons", "newcomer", 2)
}

func TestClaim_LoadCountsClaimsAsPaidTickets(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	rs := reservations(3)
	order(t, s, batchOf("coupons", rs...))
	entry, err := s.BeginLoad(t.Context(), "coupons", 0)
	if err != nil {
		t.Fatal(err)
	}
	var live sale.Live
	var tickets []sale.LoadTicket
	err = s.Count(t.Context(), "coupons", entry.Epoch, sale.LoadParts{
		Live:     func(l sale.Live) error { live = l; return nil },
		Allow:    func([]string) error { return nil },
		Adjusted: func([]sale.Adjustment) error { return nil },
		Tickets:  func(page []sale.LoadTicket) error { tickets = append(tickets, page...); return nil },
	})
	if err != nil || live.Stock != 7 || live.Accepted != 3 || live.Unpaid != 0 || live.Rank != 3 || live.Entry.Template != "newcomer" {
		t.Errorf("live %+v, error %v", live, err)
	}
	if len(tickets) != 3 {
		t.Fatalf("%d tickets", len(tickets))
	}
	for i, ticket := range tickets {
		if ticket.RID != rs[i].RID || ticket.Status != sale.StatusPaid || !ticket.HoldsSlot || !ticket.PayBy.IsZero() {
			t.Errorf("ticket %+v", ticket)
		}
	}
}

func TestClaim_PostgresThatCameBackOlderMakesTheCouponsAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	rs := reservations(4)
	order(t, s, batchOf("coupons", rs[0]))
	known, err := s.Entry(t.Context(), "coupons")
	if err != nil {
		t.Fatal(err)
	}
	known.Rev++
	for range 2 { // each step may be repeated
		entry, err := s.Adopt(t.Context(), known, known.Epoch)
		if err != nil || entry.Template != "newcomer" {
			t.Fatalf("entry %+v, error %v", entry, err)
		}
		order(t, s, batchOf("coupons", rs...))
		kept, err := s.KeepPaid(t.Context(), []string{rs[0].RID, rs[1].RID, rs[2].RID, rs[3].RID})
		if err != nil || kept != 0 {
			t.Errorf("%d were kept paid by payments that never were, error %v", kept, err)
		}
	}
	tickets := make([]sale.Ticket, len(rs))
	for i, r := range rs {
		tickets[i] = sale.Ticket{Reservation: r, Status: sale.StatusPaid}
	}
	if missing, err := s.Missing(t.Context(), tickets); err != nil || missing != 0 {
		t.Errorf("%d missing, error %v", missing, err)
	}
	duplicate := reservation(rs[0].UserID, 1, 9)
	closed := sale.Ticket{Reservation: duplicate, Status: sale.StatusRejected, Reason: sale.ReasonDuplicate, UpdatedAt: duplicate.AcceptedAt}
	if n, err := s.RestoreClosed(t.Context(), known, []sale.Ticket{closed}); err != nil || n != 1 {
		t.Errorf("%d restored, error %v", n, err)
	}
	wantIssued(t, s, "coupons", "newcomer", 4)
}

func TestClaim_PostgresWithoutTheTemplateHasItFromTheCatalogue(t *testing.T) {
	t.Parallel()
	s, behind := newStore(t), newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 5)
	rs := reservations(2)
	order(t, s, batchOf("coupons", rs...))
	known, err := s.Entry(t.Context(), "coupons")
	if err != nil {
		t.Fatal(err)
	}
	rule := known.Rule
	known.Rule = nil // of a catalogue that was written before there were rules in it
	if _, err := behind.Adopt(t.Context(), known, known.Epoch); !errors.Is(err, ErrNoTemplate) {
		t.Errorf("error %v, want ErrNoTemplate", err)
	}
	known.Rule = rule
	for range 2 {
		adopted, err := behind.Adopt(t.Context(), known, known.Epoch)
		if err != nil || adopted.Template != "newcomer" || string(adopted.Rule) != string(rule) {
			t.Fatalf("adopted %+v, error %v", adopted, err)
		}
	}
	order(t, behind, batchOf("coupons", rs...))
	wantIssued(t, behind, "coupons", "newcomer", 2)
	wantSnapshot(t, behind, rs[0].RID, coupon.Snapshot{Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Terms: claimTerms()})
	was, err := s.Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	is, err := behind.Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was[0].Rule, is[0].Rule); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestClaim_UniqueByTemplateUserAndSlot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	claimable(t, s, "coupons", "newcomer", 10, 10)
	order(t, s, batchOf("coupons", reservation("ann", 1, 1), reservation("ann", 2, 2)))
	wantIssued(t, s, "coupons", "newcomer", 2)
	_, err := s.pool.Exec(t.Context(), `INSERT INTO coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at)
		SELECT gen_random_uuid(), template_id, 'another', user_id, slot, snapshot, ends_at FROM coupons LIMIT 1`)
	if !refused(err) {
		t.Errorf("error %v, want the constraint", err)
	}
}
