package auth

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"time"
)

// segmentEncoding is the parser's.
var segmentEncoding = base64.RawURLEncoding.Strict()

// take takes in a token, whose header may say that a secret has signed it.
func (w *workspace) take(token string) {
	w.token = append(w.token[:0], token...)
	end := max(0, bytes.LastIndexByte(w.token, '.'))
	w.signed, w.signature = w.token[:end], bytes.TrimPrefix(w.token[end:], []byte("."))
	var header []byte
	header, w.claims, _ = bytes.Cut(w.signed, []byte("."))
	w.bySecret = w.decode(header) && w.reader.header(w.text)
}

// examinePlain is examine, but for the signature, of the token in w if a secret is said to
// have signed it and its claims are as shops write them. That costs a fraction, and nearly
// every attempt comes with a token that was never shown before. It never refuses: false is
// for what it does not believe or does not know, and then examine has the word.
func (v *Verifier) examinePlain(w *workspace, now time.Time) (Identity, bool) {
	if !w.bySecret || !w.decode(w.claims) {
		return Identity{}, false
	}
	c, ok := w.reader.claims(w.text, v.config.Issuer, v.config.Audience)
	if !ok || !c.byIssuer || !c.forAudience {
		return Identity{}, false
	}
	valid, err := c.times.period(v.config.Leeway)
	return c.identity, err == nil && valid.holds(now)
}

// decode puts the text of a segment into w.text.
func (w *workspace) decode(segment []byte) bool {
	var err error
	w.text, err = segmentEncoding.AppendDecode(w.text[:0], segment)
	return err == nil
}

// forged reports whether a secret is said to have signed the token in w, and none has:
// examine would refuse it, after reading all that it says.
func (w *workspace) forged(keys *keyring) bool {
	if !w.bySecret {
		return false
	}
	if !w.decode(w.signature) {
		return true
	}
	for _, m := range keys.macs {
		if w.mac = m.of(w.mac[:0], w.signed); hmac.Equal(w.mac, w.text) {
			return false
		}
	}
	return true
}
