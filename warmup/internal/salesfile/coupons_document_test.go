package salesfile_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
	"sluice/warmup/internal/salesfile"
)

// couponsDocument returns the text, and its blocks of a language in order.
func couponsDocument(t *testing.T, language string) (text string, blocks []string) {
	t.Helper()
	all, err := os.ReadFile("../../../docs/coupons.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(all, -1) {
		blocks = append(blocks, string(found[1]))
	}
	return string(all), blocks
}

func block(t *testing.T, language string, i, of int) []byte {
	t.Helper()
	_, blocks := couponsDocument(t, language)
	if len(blocks) != of {
		t.Fatalf("docs/coupons.md has %d blocks of %s, want %d", len(blocks), language, of)
	}
	return []byte(blocks[i])
}

func documentedCart(t *testing.T) (pricing.Cart, pricing.Quote) {
	t.Helper()
	var c pricing.Cart
	if err := json.Unmarshal(block(t, "json", 0, 3), &c); err != nil {
		t.Fatal(err)
	}
	c = c.WithDefaults(time.Time{})
	q, err := pricing.Best(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, q
}

func TestCouponsDocument_SalesFileIsReadAndIsThatOfTheCart(t *testing.T) {
	t.Parallel()
	f, err := salesfile.Parse(block(t, "yaml", 0, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := documentedCart(t)
	if len(f.Templates) != len(c.Coupons) || len(f.Sales) != 2 {
		t.Fatalf("%d templates, %d coupons, %d sales", len(f.Templates), len(c.Coupons), len(f.Sales))
	}
	for i, template := range f.Templates {
		// Absent lists are empty in a file and nil in a request; of a what-if nothing is returned.
		want := coupon.Snapshot{Kind: template.Kind, Value: template.Value, MinAmountCents: template.MinAmountCents, Terms: template.Terms}
		want.ReturnOnFullRefund, want.EndsAt = false, want.EndsAt.UTC()
		a, b := fmt.Sprintf("%v %v", template.ID, want), fmt.Sprintf("%v %v", c.Coupons[i].ID, c.Coupons[i].Snapshot)
		if a != b {
			t.Errorf("template %s\ncoupon %s", a, b)
		}
	}
}

func TestCouponsDocument_AnswerIsThatOfTheRequest(t *testing.T) {
	t.Parallel()
	_, q := documentedCart(t)
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	for into, text := range map[*map[string]any][]byte{&got: text, &want: block(t, "json", 1, 3)} {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
		delete(*into, "nodes") // how many it takes may change
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%v", text, want)
	}
}

func TestCouponsDocument_TableSaysWhoPays(t *testing.T) {
	t.Parallel()
	_, q := documentedCart(t)
	text, _ := couponsDocument(t, "json")
	row := func(name string, price, payable int64, of func(pricing.Share) bool) string {
		parties := map[string]int64{}
		for _, s := range q.Shares {
			if of(s) {
				parties[s.Party] += s.DiscountMinor
			}
		}
		return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, price, payable, parties["maple"], parties["platform"], parties["bank"])
	}
	var table strings.Builder
	for _, l := range q.Lines {
		table.WriteString(row("line "+l.ID, l.AmountMinor, l.PayableMinor, func(s pricing.Share) bool { return s.LineID == l.ID }))
	}
	for _, p := range q.Shipping {
		table.WriteString(row("parcel of "+p.Merchant, p.AmountMinor, p.PayableMinor, func(s pricing.Share) bool { return s.Parcel && s.Merchant == p.Merchant }))
	}
	table.WriteString(row("together", q.PayableMinor+q.DiscountMinor, q.PayableMinor, func(pricing.Share) bool { return true }))
	if !strings.Contains(text, table.String()) {
		t.Errorf("the table is not\n%s", table.String())
	}
}

func TestCouponsDocument_RefundIsWhatGoesBack(t *testing.T) {
	t.Parallel()
	c, q := documentedCart(t)
	var want checkout.Refunded
	if err := json.Unmarshal(block(t, "json", 2, 3), &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Lines) != 1 {
		t.Fatalf("lines %v", want.Lines)
	}
	line := want.Lines[0]
	for _, l := range pricing.Charge(c, q).Lines {
		if l.ID != line.ID {
			continue
		}
		money, shares := l.Back(line.Quantity)
		var bearers []pricing.BearerShare
		reversed := int64(0)
		for _, s := range shares {
			bearers = append(bearers, pricing.BearerShare{Party: s.Party, DiscountMinor: s.DiscountMinor})
			reversed += s.DiscountMinor
		}
		slices.SortFunc(bearers, func(a, b pricing.BearerShare) int { return cmp.Compare(a.Party, b.Party) })
		if money != line.AmountMinor || money != want.AmountMinor || reversed != line.DiscountMinor || !slices.Equal(bearers, want.Bearers) {
			t.Errorf("%d goes back, %d is reversed by %v", money, reversed, bearers)
		}
		return
	}
	t.Errorf("there is no line %s", line.ID)
}
