package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// audited runs the command on the sale's stores and reads its report back.
func audited(t *testing.T, s *soldSale, args ...string) (report.Report, string, error) {
	t.Helper()
	dir := t.TempDir()
	info, err := json.Marshal(stack.Info{
		Redis: stack.StoreInfo{URL: s.urls.Redis}, NATS: stack.StoreInfo{URL: s.urls.NATS}, Postgres: stack.StoreInfo{URL: s.urls.Postgres},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, stack.InfoFile), info, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	var out, log bytes.Buffer
	args = append([]string{"audit", "-stack", filepath.Join(dir, stack.InfoFile), "-out", dir, "-wait", "300ms"}, args...)
	failed := run(ctx, args, func(string) string { return "" }, &out, &log)
	var rep report.Report
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatalf("no report (%v): %v\n%s%s", failed, err, out.String(), log.String())
	}
	must(t, json.Unmarshal(raw, &rep))
	return rep, out.String(), failed
}

func TestAudit_SoldSalePasses(t *testing.T) {
	t.Parallel()
	s := sell(t)
	rep, out, err := audited(t, s)
	if err != nil || !rep.Verdict.Pass || rep.Verdict.Violations == nil || len(rep.Verdict.Violations) > 0 {
		t.Fatalf("%v: %+v\n%s", err, rep.Verdict, out)
	}
	if rep.Orders.Total != 2 || rep.Orders.Pending != 2 {
		t.Errorf("orders %+v", rep.Orders)
	}
	if !strings.Contains(out, s.id) || !strings.Contains(out, "verdict: pass") {
		t.Errorf("printed\n%s", out)
	}
}

// Without a URL a client would look for a database in the environment.
func TestAudit_AStackFileWithoutStoresIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), stack.InfoFile)
	must(t, os.WriteFile(path, []byte(`{"redis": {"url": "redis://127.0.0.1:1"}}`), 0o600))
	err := run(t.Context(), []string{"audit", "-stack", path}, noEnv, new(bytes.Buffer), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "lacks nats.url, postgres.url") {
		t.Errorf("%v", err)
	}
}

func TestAudit_UnknownSaleIsAnError(t *testing.T) {
	t.Parallel()
	s := sell(t)
	dir := t.TempDir()
	info := `{"redis":{"url":"` + s.urls.Redis + `"},"nats":{"url":"` + s.urls.NATS + `"},"postgres":{"url":"` + s.urls.Postgres + `"}}`
	must(t, os.WriteFile(filepath.Join(dir, "stack.json"), []byte(info), 0o600))
	err := run(t.Context(), []string{"audit", "-stack", filepath.Join(dir, "stack.json"), "-out", dir, "-sale", "nobody", "-wait", "10ms"},
		func(string) string { return "" }, &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || errors.Is(err, errVerdict) {
		t.Fatalf("audit of an unknown sale: %v", err)
	}
}

// Each kind of violation, planted in the stores behind everybody's back, with the
// constraint that forbids it dropped where there is one.
func TestAudit_FindsEveryPlantedViolation(t *testing.T) {
	t.Parallel()
	order := `INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency, state,
		shown_state, holds_unit, holds_slot, expires_at)
		SELECT $1, sale_id, $2, slot, '', 9, now(), amount, currency, state, shown_state, holds_unit, holds_slot, expires_at
		FROM orders WHERE id = $3`
	cases := []struct {
		name, invariant string
		plant           func(t *testing.T, s *soldSale) (names string)
	}{
		{"more orders than units", "I1", func(t *testing.T, s *soldSale) string {
			s.exec(t, `ALTER TABLE sale_stock DROP CONSTRAINT sale_stock_never_oversold`)
			s.exec(t, `UPDATE sale_stock SET total = 1`)
			return "2 orders hold a unit of a total of 1"
		}},
		{"two orders in one slot", "I2", func(t *testing.T, s *soldSale) string {
			s.exec(t, `DROP INDEX orders_slot`)
			s.exec(t, order, uuid.NewString(), "ann", s.rids[0])
			return "user ann"
		}},
		{"accepted and never ordered", "I3", func(t *testing.T, s *soldSale) string {
			lost := s.reserve(t.Context(), t, 1, "cid")
			must(t, s.stock.HandedOver(t.Context(), s.id, 1, []string{lost[0].RID}))
			return lost[0].RID
		}},
		{"left in handoff", "I3", func(t *testing.T, s *soldSale) string {
			s.reserve(t.Context(), t, 1, "cid")
			return "1 reservations are still in handoff"
		}},
		{"stock row drifted", "I4", func(t *testing.T, s *soldSale) string {
			s.exec(t, `UPDATE sale_stock SET held = held - 1`)
			return "the stock row says 1 units are held, 2 orders hold one"
		}},
		{"total drifted", "I4", func(t *testing.T, s *soldSale) string {
			s.exec(t, `UPDATE sale_stock SET total = total + 1`)
			return "the total is 4, 3 units were configured and adjustments make that +0"
		}},
		{"adjustment that Redis has alone", "I4", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HSet(t.Context(), s.key("adjusted"), "a1", 5).Err())
			return "adjustment a1 is +5 units in Redis, none in Postgres"
		}},
		{"unit stranded in Redis", "I4", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.Decr(t.Context(), s.key("stock")).Err())
			return "Redis has 0 units in stock, Postgres has 1 free"
		}},
		{"given back without a release", "I5", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HIncrBy(t.Context(), s.key("counters"), "given", 1).Err())
			return "1 given back"
		}},
		{"order from nowhere", "I6", func(t *testing.T, s *soldSale) string {
			s.exec(t, order, uuid.NewString(), "eve", s.rids[0])
			s.exec(t, `UPDATE sale_stock SET held = held + 1`)
			return "of user eve"
		}},
		{"ticket went back", "I7", func(t *testing.T, s *soldSale) string {
			s.exec(t, `UPDATE orders SET state = 'paid', shown_state = 'paid' WHERE id = $1`, s.rids[1])
			return s.rids[1]
		}},
		{"ticket lost", "I7", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HDel(t.Context(), s.key("tickets"), s.rids[0]).Err())
			return s.rids[0]
		}},
		{"closed order deleted", "I3", func(t *testing.T, s *soldSale) string {
			s.expire(t, s.rids[0])
			s.exec(t, `DELETE FROM orders WHERE id = $1`, s.rids[0])
			return "reservation " + s.rids[0] + " is released as expired and has no order row"
		}},
		{"release deleted", "I5", func(t *testing.T, s *soldSale) string {
			s.expire(t, s.rids[0])
			s.exec(t, `DELETE FROM releases`)
			return "order " + s.rids[0] + " is expired and has no release"
		}},
		{"release that says otherwise", "I3", func(t *testing.T, s *soldSale) string {
			s.expire(t, s.rids[0])
			s.exec(t, `UPDATE releases SET status = 'cancelled'`)
			return "the release of " + s.rids[0] + " closes it as cancelled, its order is expired"
		}},
		{"closed order noted as shown otherwise", "I7", func(t *testing.T, s *soldSale) string {
			s.expire(t, s.rids[0])
			s.exec(t, `UPDATE orders SET shown_state = 'paid' WHERE id = $1`, s.rids[0])
			return "order " + s.rids[0] + " is expired, what its ticket shows is noted as"
		}},
		{"paid order of another amount", "I3", func(t *testing.T, s *soldSale) string {
			s.pay(t, s.rids[0])
			s.exec(t, `UPDATE orders SET amount = 0 WHERE id = $1`, s.rids[0])
			return "order " + s.rids[0] + " is of 0 CNY, the price is 100 CNY"
		}},
		{"pending order in another currency", "I3", func(t *testing.T, s *soldSale) string {
			s.exec(t, `UPDATE orders SET currency = 'USD' WHERE id = $1`, s.rids[0])
			return "order " + s.rids[0] + " is of 100 USD, the price is 100 CNY"
		}},
		{"payment of another amount", "I3", func(t *testing.T, s *soldSale) string {
			s.pay(t, s.rids[0])
			s.exec(t, `UPDATE payments SET amount = 1`)
			return "payment event e1 of 1 CNY is paid, its order " + s.rids[0] + " is of 100 CNY"
		}},
		{"payment that failed and paid", "I3", func(t *testing.T, s *soldSale) string {
			s.pay(t, s.rids[0])
			s.exec(t, `UPDATE payments SET type = 'payment.failed'`)
			return "payment event e1 of order " + s.rids[0] + " is a payment.failed"
		}},
		{"refund owed of another amount", "I3", func(t *testing.T, s *soldSale) string {
			s.pay(t, s.rids[0])
			s.owe(t, s.rids[0], `UPDATE refunds_owed SET amount = 1`)
			return "the refund owed for payment event e2 is 1 CNY"
		}},
		{"refund owed for another reason", "I3", func(t *testing.T, s *soldSale) string {
			s.pay(t, s.rids[0])
			s.owe(t, s.rids[0], `UPDATE refunds_owed SET reason = 'no_unit'`)
			return "the refund owed for payment event e2 of order " + s.rids[0] + " has the reason no_unit"
		}},
		{"payment of no order", "I3", func(t *testing.T, s *soldSale) string {
			s.exec(t, `INSERT INTO payments (event_id, type, order_id, amount, currency, restock, occurred_at, result, applied_at)
				VALUES ('e1', 'payment.succeeded', gen_random_uuid(), 100, 'CNY', false, now(), 'paid', now())`)
			return "is paid, and no sale has such an order"
		}},
		{"slot that points to nothing", "I2", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HDel(t.Context(), s.key("slots"), "ann#1").Err())
			return "slot ann#1 point to nothing"
		}},
		{"slot that points to another's order", "I2", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HSet(t.Context(), s.key("slots"), "ann#1", s.rids[1]).Err())
			return "slot ann#1 point to " + s.rids[1] + ", order " + s.rids[0] + " holds it"
		}},
		{"key bound to another's order", "I2", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HSet(t.Context(), s.key("keys"), "ann\n", s.rids[1]).Err())
			return "bound to " + s.rids[1]
		}},
		{"limit in Redis", "I4", func(t *testing.T, s *soldSale) string { return s.setMeta(t, "limit", 2, "per_user_limit is 2, not 1") }},
		{"end in Redis", "I4", func(t *testing.T, s *soldSale) string { return s.setMeta(t, "closes_ms", 1, "closes_at is 1970") }},
		{"second purchase in Redis", "I4", func(t *testing.T, s *soldSale) string {
			return s.setMeta(t, "rebuy", 1, "rebuy_after_release is true, not false")
		}},
		{"allow list in Redis", "I4", func(t *testing.T, s *soldSale) string {
			return s.setMeta(t, "allow", 1, "allow_list is true, not false")
		}},
		{"unpaid miscounted", "I3", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.HIncrBy(t.Context(), s.key("counters"), "unpaid", 1).Err())
			return "Redis counts 3 reservations as unpaid, of its tickets 2 are"
		}},
		{"Redis offers a unit that is held", "I8", func(t *testing.T, s *soldSale) string {
			must(t, s.redis.Incr(t.Context(), s.key("stock")).Err())
			return "Redis offers 2 units"
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sell(t)
			names := c.plant(t, s)
			rep, out, err := audited(t, s)
			if !errors.Is(err, errVerdict) || rep.Verdict.Pass {
				t.Fatalf("passed with %v\n%s", err, out)
			}
			found := func(v sale.Violation) bool { return v.Invariant == c.invariant && strings.Contains(v.Detail, names) }
			if !slices.ContainsFunc(rep.Verdict.Violations, found) {
				t.Fatalf("no violation of %s that names %q:\n%s", c.invariant, names, out)
			}
		})
	}
}
