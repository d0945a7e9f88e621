package sale

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is something that a merchant's API key may be used for.
type Scope string

// Scopes of merchants' keys.
const (
	ScopeQuotes         Scope = "quotes"
	ScopeCouponsLock    Scope = "coupons:lock"
	ScopeCouponsRedeem  Scope = "coupons:redeem"
	ScopeCouponsRelease Scope = "coupons:release"
	ScopeCouponsRefund  Scope = "coupons:refund"
)

// Scopes are all there are.
func Scopes() []Scope {
	return []Scope{ScopeQuotes, ScopeCouponsLock, ScopeCouponsRedeem, ScopeCouponsRelease, ScopeCouponsRefund}
}

// ParseScopes reads scopes separated by commas, each once.
func ParseScopes(list string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range strings.Split(list, ",") {
		scope := Scope(strings.TrimSpace(name))
		switch {
		case !slices.Contains(Scopes(), scope):
			return nil, fmt.Errorf("%q is no scope: there are %v", string(scope), Scopes())
		case slices.Contains(scopes, scope):
			return nil, fmt.Errorf("scope %s is named twice", scope)
		}
		scopes = append(scopes, scope)
	}
	return scopes, nil
}

// MerchantKey is what is kept of a merchant's API key: enough to know it again, not
// enough to show it.
type MerchantKey struct {
	ID        string   // 16 hex digits, in the key
	Hash      [32]byte // SHA-256 of the key's secret
	Merchant  string   // as a sale's id
	Scopes    []Scope
	CreatedAt time.Time // Postgres time
	RevokedAt time.Time // zero while it is good
}

// May reports whether the key is good for scope.
func (k MerchantKey) May(scope Scope) bool { return slices.Contains(k.Scopes, scope) }
