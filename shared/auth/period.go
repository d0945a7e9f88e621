package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// period is when a token may be believed, leeway included.
type period struct {
	from  time.Time // zero: since ever
	until time.Time // no longer at that moment
}

func (p period) holds(now time.Time) bool { return !now.Before(p.from) && now.Before(p.until) }

// times are the moments that a token says; zero where it says none.
type times struct{ expires, notBefore, issued time.Time }

func timesOf(claims jwt.MapClaims) (t times, err error) {
	if t.expires, err = readTime(claims, "exp"); err != nil {
		return t, err
	}
	if t.notBefore, err = readTime(claims, "nbf"); err != nil {
		return t, err
	}
	t.issued, err = readTime(claims, "iat")
	return t, err
}

// period is when the token may be believed: from nbf and iat until exp. One that would
// be valid for more than MaxLifetime is refused: it could not be taken back. That
// counts from iat, else from nbf, else it may be believed only when it is that near
// its end.
func (t times) period(leeway time.Duration) (period, error) {
	if t.expires.IsZero() {
		return period{}, errors.New("claim exp is missing")
	}
	begins := t.issued
	if begins.IsZero() {
		begins = t.notBefore
	}
	from := t.expires.Add(-MaxLifetime - leeway)
	if !begins.IsZero() && begins.Before(from) {
		return period{}, fmt.Errorf("it is valid for %v, more than %v", t.expires.Sub(begins), MaxLifetime)
	}
	for _, begin := range [...]time.Time{t.notBefore, t.issued} {
		if begin = begin.Add(-leeway); begin.After(from) {
			from = begin
		}
	}
	return period{from: from, until: t.expires.Add(leeway)}, nil
}

// readTime reads a NumericDate; the zero time when the claim is absent.
func readTime(claims jwt.MapClaims, name string) (time.Time, error) {
	raw, given := claims[name]
	if !given {
		return time.Time{}, nil
	}
	number, ok := raw.(json.Number)
	if !ok {
		return time.Time{}, fmt.Errorf("claim %s must be a number", name)
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 1 || seconds > maxUnix { // not 0: it would pass for absent
		return time.Time{}, fmt.Errorf("claim %s must be unix seconds, from 1 to %d", name, maxUnix)
	}
	whole := int64(seconds)
	return time.Unix(whole, int64((seconds-float64(whole))*1e9)).UTC(), nil
}
