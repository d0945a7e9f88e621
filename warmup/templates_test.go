package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/shared/sale"
)

// couponFile writes a sales file of one template, and of a sale that gives it out.
func (b *bench) couponFile(template, saleID string, total int, rest string) string {
	b.t.Helper()
	text := fmt.Sprintf("coupon_templates:\n  - {id: %s, kind: amount, value: 2000, min_amount: 10000, total: %d%s}\n", template, total, rest)
	if saleID != "" {
		text += fmt.Sprintf("sales:\n  - {id: %s, kind: coupon, template: %s, total: 10, opens_at: %s, closes_at: 2099-01-01T00:00:00Z}\n", saleID, template, alreadyOpen)
	}
	path := filepath.Join(b.t.TempDir(), "sales.yaml")
	b.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestApply_BringsCouponSalesToAllThreeStores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, id := newName(), newName()
	file := b.couponFile(template, id, 10, "")
	planned := b.run("apply", "-dry-run", file)
	if want := "template " + template + ": would be created\n" + id + ": would be created\n"; planned != want {
		t.Errorf("dry run %q, want %q", planned, want)
	}
	out := b.run("apply", file)
	if want := "template " + template + ": created\n" + id + ": created\n" + id + ": loaded at epoch 1\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	shown, known := b.announced(id)
	if !known || shown.Kind != sale.KindCoupon || shown.Template != template || shown.SKU != template || shown.PriceMinor != 0 || shown.Currency != "CNY" {
		t.Errorf("the catalogue has %+v", shown)
	}
	b.run("verify", id)
	b.run("doctor")
	b.loseRedis(id)
	b.run("load", id)
	b.run("verify", id)
	out = b.run("apply", file)
	if want := "template " + template + ": unchanged\n" + id + ": unchanged\n" + id + ": already loaded at epoch 2\n"; out != want {
		t.Errorf("again %q, want %q", out, want)
	}
}

func TestApply_ChangesTemplatesOfAFileWithoutSales(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, id := newName(), newName()
	b.run("apply", b.couponFile(template, id, 10, ""))
	more := b.couponFile(template, "", 11, ", group: newcomer")
	if out := b.run("apply", "-dry-run", more); !strings.Contains(out, "template "+template+": would be updated\n  total: 10 → 11\n  group: \"\" → \"newcomer\"\n") {
		t.Errorf("dry run %q", out)
	}
	if out := b.run("apply", more); out != "template "+template+": updated\n  total: 10 → 11\n  group: \"\" → \"newcomer\"\n" {
		t.Errorf("output %q", out)
	}
	if shown, _ := b.announced(id); !strings.Contains(string(shown.Rule), `"total": 11`) && !strings.Contains(string(shown.Rule), `"total":11`) {
		t.Errorf("the catalogue has the rule %s", shown.Rule)
	}
	fewer := b.couponFile(template, "", 9, "")
	for _, args := range [][]string{{"apply", fewer}, {"apply", "-dry-run", fewer}} {
		b.refuse("nothing was changed: template "+template+": total: 11 → 9: sale "+id+" has 10 units of it", args...)
	}
	b.run("verify", id)
}

func TestApply_SaysThatCouponsEndBeforeTheirSale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, id := newName(), newName()
	file := b.couponFile(template, id, 10, ", ends_at: 2098-12-31T00:00:00Z")
	want := id + ": note: it closes at 2099-01-01T00:00:00Z, and coupons of template " + template + " end before, at 2098-12-31T00:00:00Z\n"
	for _, args := range [][]string{{"apply", "-dry-run", file}, {"apply", file}} {
		if out := b.run(args...); !strings.Contains(out, want) {
			t.Errorf("warmup %v lacks the note:\n%s", args, out)
		}
	}
}
