package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/worker/internal/merchants"
)

// Merchants knows merchants by their API keys.
type Merchants interface {
	// Admit returns the key that was shown; merchants.ErrUnknown if there is none such.
	Admit(ctx context.Context, shown string) (sale.MerchantKey, error)
}

// anyScope admits every key that is good.
const anyScope sale.Scope = ""

// forMerchant lets merchants through whose key has the scope, with a deadline. What it
// answers is the merchant's own and must not be cached.
func (a *api) forMerchant(scope sale.Scope, answer func(w http.ResponseWriter, r *http.Request, key sale.MerchantKey)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		key, err := a.Merchants.Admit(ctx, auth.Bearer(r.Header.Values("Authorization")...))
		switch {
		case errors.Is(err, merchants.ErrUnknown):
			unknownMerchant(w)
		case err != nil:
			a.failMerchant(w, r, err)
		case scope != anyScope && !key.May(scope):
			missingScope(w, scope)
		default:
			answer(w, r.WithContext(ctx), key)
		}
	}
}

// failMerchant answers while nobody can say whether a key is good.
func (a *api) failMerchant(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != context.Canceled && a.faults.Allow() {
		a.log.Warn("merchant keys not read", "error", err)
	}
	unavailable("Your key cannot be checked just now. Try again.").write(w)
}

func unknownMerchant(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: http.StatusUnauthorized,
		Detail: "Send a merchant's API key: Authorization: Bearer sk_ID_SECRET."}.write(w)
}

func missingScope(w http.ResponseWriter, scope sale.Scope) {
	problem{Type: "/problems/missing-scope", Title: "Missing scope", Status: http.StatusForbidden,
		Detail: "This key was not made for " + string(scope) + "."}.write(w)
}

// merchantBody is what a merchant's key is good for.
type merchantBody struct {
	Merchant  string       `json:"merchant"`
	Scopes    []sale.Scope `json:"scopes"`
	CreatedAt time.Time    `json:"created_at"`
}

// oneMerchant is GET /v1/merchant: whose key it is that was shown, so that a shop can
// check the one it has.
func (a *api) oneMerchant(w http.ResponseWriter, _ *http.Request, key sale.MerchantKey) {
	write(w, "application/json", http.StatusOK, merchantBody{key.Merchant, key.Scopes, key.CreatedAt.UTC()})
}
