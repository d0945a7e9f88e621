package auth_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/auth"
)

const (
	rid      = "0192e4a0-7c3b-7def-8123-456789abcdef"
	otherRID = "0192e4a0-7c3b-7def-8123-456789abcdee"
)

var ticketKey = []byte(strings.Repeat("t", 32))

func newSigner(t testing.TB, key []byte) *auth.TicketSigner {
	t.Helper()
	signer, err := auth.NewTicketSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestTicket_OpensForItsUser(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, ticketKey)
	for _, c := range []struct {
		saleID, userID string
		slot           int
	}{
		{"phone-1111", "ann", 1},
		{"a", "王", 20},
		{strings.Repeat("s", 64), strings.Repeat("u", 128), 7},
	} {
		ticket := signer.Sign(c.saleID, c.userID, c.slot, rid)
		got, err := signer.Open(ticket, c.userID)
		if err != nil {
			t.Fatalf("cannot open %q of %q: %v", ticket, c.userID, err)
		}
		if diff := cmp.Diff(auth.TicketRef{SaleID: c.saleID, Slot: c.slot, RID: rid}, got); diff != "" {
			t.Errorf("ticket refers to something else (-want +got):\n%s", diff)
		}
		if again := signer.Sign(c.saleID, c.userID, c.slot, rid); again != ticket {
			t.Errorf("ticket is not a function of its fields: %q, then %q", ticket, again)
		}
	}
}

func TestSign_GivesNothingForWhatHasNoTicket(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, ticketKey)
	for name, ticket := range map[string]string{
		"slot 0":          signer.Sign("phone", "ann", 0, rid),
		"slot 21":         signer.Sign("phone", "ann", 21, rid),
		"slot 257":        signer.Sign("phone", "ann", 257, rid),
		"no rid":          signer.Sign("phone", "ann", 1, ""),
		"upper-case rid":  signer.Sign("phone", "ann", 1, strings.ToUpper(rid)),
		"rid in braces":   signer.Sign("phone", "ann", 1, "{"+rid+"}"),
		"no sale":         signer.Sign("", "ann", 1, rid),
		"sale with space": signer.Sign("pho ne", "ann", 1, rid),
	} {
		if ticket != "" {
			t.Errorf("%s: signed %q", name, ticket)
		}
	}
}

func TestOpen_RefusesEverythingElseAlike(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, ticketKey)
	ticket := signer.Sign("phone-1111", "ann", 1, rid)
	payload, mac, _ := strings.Cut(ticket, ".")
	_, otherMAC, _ := strings.Cut(signer.Sign("phone-1111", "ann", 2, rid), ".")
	for name, bad := range map[string]string{
		"empty":             "",
		"dot":               ".",
		"no MAC":            payload,
		"empty MAC":         payload + ".",
		"MAC cut":           ticket[:len(ticket)-1],
		"another's MAC":     payload + "." + otherMAC,
		"trailing part":     ticket + ".x",
		"trailing newline":  ticket + "\n",
		"newline inside":    payload[:4] + "\n" + payload[4:] + "." + mac,
		"return in MAC":     payload + "." + mac[:3] + "\r" + mac[3:],
		"padding":           payload + "==." + mac,
		"stray bits":        payload + "." + nonCanonical(mac),
		"not base64":        "!" + ticket[1:],
		"foreign key":       newSigner(t, []byte(strings.Repeat("k", 32))).Sign("phone-1111", "ann", 1, rid),
		"too long":          strings.Repeat("A", 1<<16),
		"payload too short": base64.RawURLEncoding.EncodeToString(make([]byte, 17)) + "." + mac,
		"bit flipped":       flip(payload) + "." + mac,
	} {
		got, err := signer.Open(bad, "ann")
		if !isErrTicket(err) || got != (auth.TicketRef{}) {
			t.Errorf("%s: opened as %+v, error %v, want exactly ErrTicket", name, got, err)
		}
	}
	for _, stranger := range []string{"", "bob", "ann ", "Ann", "an"} {
		if _, err := signer.Open(ticket, stranger); !isErrTicket(err) {
			t.Errorf("opened for %q with error %v, want exactly ErrTicket", stranger, err)
		}
	}
}

// isErrTicket wants the sentinel with nothing around it that tells a reason.
func isErrTicket(err error) bool {
	return errors.Is(err, auth.ErrTicket) && err.Error() == auth.ErrTicket.Error()
}

func TestTicket_FieldsDoNotRunIntoEachOther(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, ticketKey)
	seen := map[string]string{}
	for name, ticket := range map[string]string{
		"sale ab, user c":  signer.Sign("ab", "c", 1, rid),
		"sale a, user bc":  signer.Sign("a", "bc", 1, rid),
		"sale a, user b":   signer.Sign("a", "b", 1, rid),
		"another slot":     signer.Sign("a", "b", 2, rid),
		"another rid":      signer.Sign("a", "b", 1, otherRID),
		"user with a NUL":  signer.Sign("a", "b\x00", 1, rid),
		"user without one": signer.Sign("a", "", 1, rid),
	} {
		_, mac, _ := strings.Cut(ticket, ".")
		if other, taken := seen[mac]; taken {
			t.Errorf("%s and %s have the same MAC", name, other)
		}
		seen[mac] = name
	}
}

func TestNewTicketSigner_RefusesShortKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 31} {
		if _, err := auth.NewTicketSigner(make([]byte, n)); err == nil {
			t.Errorf("a key of %d bytes is accepted", n)
		}
	}
}

// nonCanonical spells the same bytes with another last character: 16 bytes
// leave four unused bits.
func nonCanonical(mac string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, mac[len(mac)-1])
	return mac[:len(mac)-1] + string(alphabet[last|1])
}

func flip(payload string) string {
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		panic(err)
	}
	raw[3] ^= 1
	return base64.RawURLEncoding.EncodeToString(raw)
}

func FuzzTicketOpen(f *testing.F) {
	signer := newSigner(f, ticketKey)
	ticket := signer.Sign("phone-1111", "ann", 1, rid)
	for _, seed := range []string{ticket, ticket[1:], ticket + "\n", "", ".", "..", strings.ToLower(ticket), signer.Sign("a", "王", 20, rid)} {
		f.Add(seed, "ann")
		f.Add(seed, "王")
	}
	f.Fuzz(func(t *testing.T, ticket, userID string) {
		ref, err := signer.Open(ticket, userID)
		if err != nil {
			if !errors.Is(err, auth.ErrTicket) || ref != (auth.TicketRef{}) {
				t.Errorf("Open(%q, %q) = %+v, %v", ticket, userID, ref, err)
			}
			return
		}
		if again := signer.Sign(ref.SaleID, userID, ref.Slot, ref.RID); again != ticket {
			t.Errorf("%q opens, but %q is what was signed", ticket, again)
		}
	})
}

// Tickets are kept by buyers' apps, and opened by gateways of the next version.
func TestSign_WritesTicketsAsItAlwaysHas(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, ticketKey)
	for want, got := range map[string]string{
		"AZLkoHw7fe-BI0VniavN7wJwaG9uZS0xMTEx.M_zzjJ1O5R3rjMNb9cx2FA":                       signer.Sign("phone-1111", "王 ann", 2, rid),
		"AZLkoHw7fe-BI0VniavN7xR" + strings.Repeat("zc3N", 21) + "z.K4GUhW8pawixDf7PcZwXNw": signer.Sign(strings.Repeat("s", 64), strings.Repeat("u", 128), 20, rid),
	} {
		if got != want {
			t.Errorf("signed %q, want %q", got, want)
		}
	}
}

// It allocates the ticket; with the race detector pools lose a part of what they keep.
// Not parallel: AllocsPerRun counts the whole process.
func TestSign_ReusesItsMemory(t *testing.T) {
	const most = 8 // to make all of it anew takes 20
	signer := newSigner(t, ticketKey)
	n := testing.AllocsPerRun(1000, func() { signer.Sign("phone-1111", "ann", 1, rid) })
	if n > most {
		t.Errorf("%v heap allocations", n)
	}
	t.Logf("%v heap allocations", n)
}

func BenchmarkSign(b *testing.B) {
	signer := newSigner(b, ticketKey)
	b.ReportAllocs()
	for b.Loop() {
		signer.Sign("phone-1111", "ann", 1, rid)
	}
}

func BenchmarkOpen(b *testing.B) {
	signer := newSigner(b, ticketKey)
	ticket := signer.Sign("phone-1111", "ann", 1, rid)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := signer.Open(ticket, "ann"); err != nil {
			b.Fatal(err)
		}
	}
}
