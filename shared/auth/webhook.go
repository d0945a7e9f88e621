package auth

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrSignature is wrapped by every refusal of a webhook's signature. The text behind
// it is for logs.
var ErrSignature = errors.New("invalid webhook signature")

// SignatureHeader is the header that a signed webhook carries:
//
//	Sluice-Signature: t=UNIX,v1=HEX[,v1=HEX]
//
// t is when it was sent, in seconds; each v1 is the HMAC-SHA256, under one key, of
// t as it is written, a dot, and the body.
const SignatureHeader = "Sluice-Signature"

// WebhookTolerance is how far t may be from now, before or after.
const WebhookTolerance = 300 * time.Second

const maxSignatures = 2 // as many as there are keys while they change

// WebhookVerifier verifies signed webhooks. It may be used concurrently.
type WebhookVerifier struct {
	keys [][]byte
}

// NewWebhookVerifier takes the keys that signatures may be made with: one, two while
// the sender changes keys, or none, and then nothing is believed. A key has at
// least 32 bytes.
func NewWebhookVerifier(keys ...[]byte) (*WebhookVerifier, error) {
	if len(keys) > maxSignatures {
		return nil, fmt.Errorf("cannot verify webhooks with %d keys: at most %d", len(keys), maxSignatures)
	}
	v := &WebhookVerifier{}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return nil, fmt.Errorf("cannot verify webhooks: %w", err)
		}
		v.keys = append(v.keys, bytes.Clone(key))
	}
	return v, nil
}

// Verify returns nil if one of the signatures in the header is body's under one of
// the keys, and was made within WebhookTolerance of now. headers are all values of
// the header: there must be one. Every error wraps ErrSignature.
func (v *WebhookVerifier) Verify(headers []string, body []byte, now time.Time) error {
	if len(headers) != 1 {
		return fmt.Errorf("%w: %d headers %s", ErrSignature, len(headers), SignatureHeader)
	}
	s, err := parseSignature(headers[0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	believed := false
	for _, key := range v.keys {
		want := webhookMAC(key, s.at, body)
		for _, given := range s.macs {
			believed = hmac.Equal(want, given) || believed // every pair is compared, in constant time
		}
	}
	if !believed {
		return fmt.Errorf("%w: no signature is of this body and a known key", ErrSignature)
	}
	if off := now.Sub(time.Unix(s.seconds, 0)); off > WebhookTolerance || off < -WebhookTolerance {
		return fmt.Errorf("%w: it was sent %v from now, at most %v is taken", ErrSignature, off, WebhookTolerance)
	}
	return nil
}

// SignWebhook writes the header's value for a body sent now.
func SignWebhook(key, body []byte, now time.Time) string {
	at := strconv.FormatInt(now.Unix(), 10)
	return "t=" + at + ",v1=" + hex.EncodeToString(webhookMAC(key, at, body))
}

func webhookMAC(key []byte, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(at))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}

// signature is a header, read.
type signature struct {
	at      string // as it is written: what is signed
	seconds int64
	macs    [][]byte
}

// parseSignature takes exactly what SignatureHeader documents, and nothing else:
// no spaces, no other fields, no other order, no other spelling of the number.
func parseSignature(header string) (signature, error) {
	at, rest, _ := strings.Cut(header, ",")
	at, timed := strings.CutPrefix(at, "t=")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if !timed || err != nil || seconds < 0 || seconds > maxUnix || strconv.FormatInt(seconds, 10) != at {
		return signature{}, errors.New("it does not begin with t=UNIX")
	}
	s := signature{at: at, seconds: seconds}
	for more := true; more; {
		var field string
		field, rest, more = strings.Cut(rest, ",")
		digits, versioned := strings.CutPrefix(field, "v1=")
		mac, err := hex.DecodeString(digits)
		switch {
		case !versioned || err != nil || len(mac) != sha256.Size:
			return signature{}, errors.New("what follows t is not v1=HEX of 32 bytes")
		case len(s.macs) == maxSignatures:
			return signature{}, fmt.Errorf("it has more than %d signatures", maxSignatures)
		}
		s.macs = append(s.macs, mac)
	}
	return s, nil
}
