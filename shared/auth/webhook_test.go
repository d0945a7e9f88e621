package auth

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	webhookKey    = []byte("webhook-key-webhook-key-webhook-key")
	webhookNewKey = []byte("another-key-another-key-another-key")
	webhookBody   = []byte(`{"event_id":"e-1"}`)
	webhookSent   = time.Unix(1_796_000_000, 0)
)

func webhookVerifier(t testing.TB, keys ...[]byte) *WebhookVerifier {
	t.Helper()
	v, err := NewWebhookVerifier(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWebhook_SignatureIsTheDocumentedHMAC(t *testing.T) {
	t.Parallel()
	// printf '1796000000.{"event_id":"e-1"}' | openssl dgst -sha256 -hmac webhook-key-webhook-key-webhook-key
	const want = "t=1796000000,v1=893576828de81135bfb5a15f284a5671c361659fcb56da221115e88e9789d3a8"
	if got := SignWebhook(webhookKey, webhookBody, webhookSent); got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
}

func TestWebhook_EitherKeyAndEitherSignatureIsBelieved(t *testing.T) {
	t.Parallel()
	old, renewed := SignWebhook(webhookKey, webhookBody, webhookSent), SignWebhook(webhookNewKey, webhookBody, webhookSent)
	both := old + "," + strings.SplitN(renewed, ",", 2)[1]
	for name, c := range map[string]struct {
		keys   [][]byte
		header string
		good   bool
	}{
		"one key":                          {[][]byte{webhookKey}, old, true},
		"the other of two keys":            {[][]byte{webhookNewKey, webhookKey}, old, true},
		"two signatures, the first known":  {[][]byte{webhookKey}, both, true},
		"two signatures, the second known": {[][]byte{webhookNewKey}, both, true},
		"capital digits":                   {[][]byte{webhookKey}, old[:len("t=1796000000,v1=")] + strings.ToUpper(old[len("t=1796000000,v1="):]), true},
		"a key that is not known":          {[][]byte{webhookNewKey}, old, false},
		"no key at all":                    {nil, old, false},
	} {
		err := webhookVerifier(t, c.keys...).Verify([]string{c.header}, webhookBody, webhookSent)
		if (err == nil) != c.good || err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWebhook_ToleranceHasAnEndOnBothSides(t *testing.T) {
	t.Parallel()
	v := webhookVerifier(t, webhookKey)
	header := []string{SignWebhook(webhookKey, webhookBody, webhookSent)}
	for off, good := range map[time.Duration]bool{
		0: true, 300 * time.Second: true, -300 * time.Second: true,
		300*time.Second + time.Nanosecond: false, -300*time.Second - time.Nanosecond: false, time.Hour: false,
	} {
		if err := v.Verify(header, webhookBody, webhookSent.Add(off)); (err == nil) != good {
			t.Errorf("%v off: %v", off, err)
		}
	}
}

func TestWebhook_WhatIsNotExactlyAsDocumentedIsRefused(t *testing.T) {
	t.Parallel()
	v := webhookVerifier(t, webhookKey)
	good := SignWebhook(webhookKey, webhookBody, webhookSent)
	mac := strings.SplitN(good, ",", 2)[1]
	for _, header := range []string{
		"", "t", "t=", "t=1796000000", "t=1796000000,", mac, good + ",", "," + good, " " + good, good + " ",
		"t=01796000000," + mac, "t=+1796000000," + mac, "t=1796000000.0," + mac, "t=-1," + mac, "t=99999999999999999999," + mac, "T=1796000000," + mac,
		"t=1796000001," + mac, "t=1796000000, " + mac, "t=1796000000;" + mac, "t=1796000000,V1=" + mac[3:], "t=1796000000,v0=" + mac[3:],
		good[:len(good)-2], good + "00", good[:len(good)-1] + "g", "t=1796000000,v0=00," + mac, good + "," + mac + "," + mac,
	} {
		if err := v.Verify([]string{header}, webhookBody, webhookSent); !errors.Is(err, ErrSignature) {
			t.Errorf("%q: %v", header, err)
		}
	}
	for _, headers := range [][]string{nil, {good, good}} {
		if err := v.Verify(headers, webhookBody, webhookSent); !errors.Is(err, ErrSignature) {
			t.Errorf("%d headers: %v", len(headers), err)
		}
	}
	if err := v.Verify([]string{good}, append(webhookBody, ' '), webhookSent); !errors.Is(err, ErrSignature) {
		t.Errorf("another body: %v", err)
	}
}

func TestWebhook_KeysThatCouldBeGuessedOrAreTooManyAreRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][][]byte{{webhookKey[:31]}, {webhookKey, nil}, {webhookKey, webhookNewKey, webhookKey}} {
		if _, err := NewWebhookVerifier(keys...); err == nil {
			t.Errorf("%d keys are taken", len(keys))
		}
	}
}

// FuzzWebhookSignature holds that a header which is believed is one that the sender
// of this body wrote, up to the case of the digits and a second signature.
func FuzzWebhookSignature(f *testing.F) {
	good := SignWebhook(webhookKey, webhookBody, webhookSent)
	for _, seed := range []string{good, good + ",v1=" + strings.Repeat("0", 64), "t=1,v1=", "t=1,v1=00,v2=00", "", "t=1796000000,v1=zz", "t=,v1=,v1=,v1="} {
		f.Add(seed)
	}
	v := webhookVerifier(f, webhookKey)
	f.Fuzz(func(t *testing.T, header string) {
		s, err := parseSignature(header)
		if err == nil {
			rebuilt := "t=" + s.at
			for _, mac := range s.macs {
				rebuilt += ",v1=" + hex.EncodeToString(mac)
			}
			if !strings.EqualFold(rebuilt, header) {
				t.Errorf("%q was read as %q", header, rebuilt)
			}
		}
		if v.Verify([]string{header}, webhookBody, webhookSent) == nil && !strings.Contains(strings.ToLower(header), good[len("t=1796000000,"):]) {
			t.Errorf("%q is believed", header)
		}
	})
}
