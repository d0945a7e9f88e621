package jetqueue

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"sluice/shared/sale"
)

func drawReservation(t *rapid.T) sale.Reservation {
	id := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	user := rapid.StringN(1, 128, -1).Filter(func(s string) bool { return sale.ValidateUserID(s) == nil })
	return sale.Reservation{
		RID:        id.Draw(t, "rid"),
		UserID:     user.Draw(t, "user"),
		Slot:       rapid.IntRange(1, sale.MaxPerUserLimit).Draw(t, "slot"),
		Key:        rapid.StringMatching(`[ -~]{0,64}`).Draw(t, "key"),
		Rank:       rapid.Int64Min(1).Draw(t, "rank"),
		AcceptedAt: time.UnixMilli(rapid.Int64Range(1e12, 1e14).Draw(t, "at")).UTC(),
	}
}

func drawHandOver(t *rapid.T) sale.HandOver {
	return sale.HandOver{
		SaleID:       rapid.StringMatching(`[a-z0-9-]{1,64}`).Draw(t, "sale"),
		Epoch:        rapid.Int64Min(1).Draw(t, "epoch"),
		PriceMinor:   rapid.Int64Min(0).Draw(t, "price"),
		Currency:     rapid.SampledFrom([]string{"", "CNY", "EUR"}).Draw(t, "currency"),
		Reservations: rapid.SliceOfN(rapid.Custom(drawReservation), 1, sale.MaxHandOver).Draw(t, "reservations"),
	}
}

func TestCodec_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawHandOver(t)
		msg, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(msg.Header, msg.Subject, msg.Data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDecode_ReadsWhatEncodeWritesWithoutTheJSONDecoder(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]string{"plain": "user-1", "wide": "用户 1"} {
		h := handOver("phone", 1, 3)
		h.Reservations[1].UserID = user
		msg, err := Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		content, ok := readBody(msg.Data)
		if diff := cmp.Diff(h.Reservations, content.Reservations); !ok || diff != "" {
			t.Errorf("%s: read %v\n%s", name, ok, diff)
		}
	}
}

// What others may write is for the JSON decoder.
func TestDecode_LeavesOtherTextsToTheJSONDecoder(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]string{
		{`"slot":1`, `"slot": 1`}, {`"slot":1`, `"slot":01`}, {`"slot":1`, `"slot":-1`}, {`"slot":1`, `"slot":1e0`}, {`"slot":1`, `"Slot":1`},
		{`"user-1"`, `"user\u002d1"`}, {`"user-1"`, "\"user\n1\""}, {`.123Z`, `,123Z`}, {`.123Z`, `Z`}, {`.123Z`, `.123+00:00`}, {`T02:`, `T2:`}, {`T02:00:00.123Z`, `T2:00:00.1234Z`},
		{`]}`, `]} `}, {`},{`, `} ,{`}, {`]}`, `],"reservations":[]}`}, {`"rank":1`, `"rank":99999999999999999999`},
	} {
		msg, err := Encode(handOver("phone", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(msg.Data, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(changed, msg.Data) {
			t.Errorf("%s is not in %s", change[0], msg.Data)
		}
		if _, ok := readBody(changed); ok {
			t.Errorf("read with %s", change[1])
		}
	}
}

func TestEncode_RefusesWhatDecodeWould(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*sale.HandOver){
		"sale id":       func(h *sale.HandOver) { h.SaleID = "a.b" },
		"no epoch":      func(h *sale.HandOver) { h.Epoch = 0 },
		"price":         func(h *sale.HandOver) { h.PriceMinor = -1 },
		"currency":      func(h *sale.HandOver) { h.Currency = `C"Y` },
		"none":          func(h *sale.HandOver) { h.Reservations = nil },
		"too many":      func(h *sale.HandOver) { *h = handOver(h.SaleID, 1, sale.MaxHandOver+1) },
		"rid":           func(h *sale.HandOver) { h.Reservations[0].RID = "x" },
		"upper rid":     func(h *sale.HandOver) { h.Reservations[0].RID = strings.Repeat("A", 36) },
		"no user":       func(h *sale.HandOver) { h.Reservations[0].UserID = "" },
		"user NUL":      func(h *sale.HandOver) { h.Reservations[0].UserID = "a\x00" },
		"slot 0":        func(h *sale.HandOver) { h.Reservations[0].Slot = 0 },
		"slot 21":       func(h *sale.HandOver) { h.Reservations[0].Slot = sale.MaxPerUserLimit + 1 },
		"rank 0":        func(h *sale.HandOver) { h.Reservations[0].Rank = 0 },
		"long key":      func(h *sale.HandOver) { h.Reservations[0].Key = strings.Repeat("k", 65) },
		"key not ASCII": func(h *sale.HandOver) { h.Reservations[0].Key = "ключ" },
		"no time":       func(h *sale.HandOver) { h.Reservations[0].AcceptedAt = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := handOver("phone", 1, 2)
			spoil(&h)
			if _, err := Encode(h); err == nil {
				t.Fatal("encoded")
			}
		})
	}
}

func TestDecode_RefusesUnreadable(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*nats.Msg){
		"no schema":        func(m *nats.Msg) { m.Header.Del(headerSchema) },
		"other schema":     func(m *nats.Msg) { m.Header.Set(headerSchema, "2") },
		"no epoch":         func(m *nats.Msg) { m.Header.Del(headerEpoch) },
		"odd epoch":        func(m *nats.Msg) { m.Header.Set(headerEpoch, "+3") },
		"negative epoch":   func(m *nats.Msg) { m.Header.Set(headerEpoch, "-3") },
		"other count":      func(m *nats.Msg) { m.Header.Set(headerCount, "3") },
		"no headers":       func(m *nats.Msg) { m.Header = nil },
		"other subject":    func(m *nats.Msg) { m.Subject = "sluice.results.phone" },
		"odd sale":         func(m *nats.Msg) { m.Subject = "sluice.orders.Phone" },
		"empty":            func(m *nats.Msg) { m.Data = nil },
		"cut":              func(m *nats.Msg) { m.Data = m.Data[:len(m.Data)-1] },
		"trailing":         func(m *nats.Msg) { m.Data = append(m.Data, '1') },
		"unknown field":    replaceInBody(`"slot":1`, `"slot":1,"colour":"red"`),
		"wrong type":       replaceInBody(`"slot":1`, `"slot":"1"`),
		"fraction":         replaceInBody(`"slot":1`, `"slot":1.5`),
		"missing slot":     replaceInBody(`"slot":1,`, ``),
		"null reservation": replaceInBody(`"reservations":[`, `"reservations":[null,`),
		"odd time":         replaceInBody(`2026-12-01T`, `2026-13-01T`),
		"not UTF-8":        replaceInBody(`"user-1"`, "\"user-\xff\""),
		"control":          replaceInBody(`"user-1"`, `"user-\u0000"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg, err := Encode(handOver("phone", 1, 2))
			if err != nil {
				t.Fatal(err)
			}
			spoil(msg)
			h, err := Decode(msg.Header, msg.Subject, msg.Data)
			if !errors.Is(err, ErrUnreadable) {
				t.Fatalf("got %+v, %v; want ErrUnreadable", h, err)
			}
		})
	}
}

func replaceInBody(old, replacement string) func(*nats.Msg) {
	return func(m *nats.Msg) { m.Data = []byte(strings.Replace(string(m.Data), old, replacement, 1)) }
}

func FuzzDecode(f *testing.F) {
	for _, n := range []int{1, 2, sale.MaxHandOver} {
		msg, err := Encode(handOver("phone", 1, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(schemaVersion, "3", fmt.Sprint(n), msg.Subject, msg.Data)
	}
	f.Add("", "", "", "", []byte(`{"reservations":[{}]}`))
	f.Fuzz(func(t *testing.T, schema, epoch, count, subject string, data []byte) {
		header := nats.Header{headerSchema: {schema}, headerEpoch: {epoch}, headerCount: {count}}
		h, err := Decode(header, subject, data)
		if content, ok := readBody(data); ok && utf8.Valid(data) {
			parsed, err := parseBody(data)
			if diff := cmp.Diff(parsed, content); err != nil || diff != "" {
				t.Fatalf("read otherwise than JSON: %v\n%s", err, diff)
			}
		}
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Fatalf("error does not wrap ErrUnreadable: %v", err)
			}
			return
		}
		msg, err := Encode(h)
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		again, err := Decode(msg.Header, msg.Subject, msg.Data)
		if diff := cmp.Diff(h, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// maxEncodeAllocs: the message, its body, the header map with three values and
// their slices; none grows with the number of reservations.
const maxEncodeAllocs = 10

func TestEncode_AllocationsDoNotGrowWithTheBatch(t *testing.T) {
	h := handOver("phone", 1, sale.MaxHandOver)
	allocs := testing.AllocsPerRun(50, func() {
		if _, err := Encode(h); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > maxEncodeAllocs {
		t.Fatalf("%.0f allocations, want at most %d", allocs, maxEncodeAllocs)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1, sale.MaxHandOver} {
		h := handOver("phone", 1, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1, sale.MaxHandOver} {
		msg, err := Encode(handOver("phone", 1, n))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(msg.Header, msg.Subject, msg.Data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
