package httpapi

import (
	"context"
	"net/http"

	"sluice/shared/auth"
	"sluice/shared/checkout"
	"sluice/shared/sale"
)

// caller is who asks about coupons: a buyer about their own, or a merchant about those
// of the user whom the request names. One of the two is "".
type caller struct {
	userID   string
	merchant string
}

// forCaller lets authenticated buyers through, and merchants whose key has the scope,
// with a deadline. What it answers is between the two and must not be cached.
func (a *api) forCaller(scope sale.Scope, answer func(w http.ResponseWriter, r *http.Request, who caller)) http.HandlerFunc {
	merchant := a.forMerchant(scope, func(w http.ResponseWriter, r *http.Request, key sale.MerchantKey) {
		answer(w, r, caller{merchant: key.Merchant})
	})
	return func(w http.ResponseWriter, r *http.Request) {
		shown := auth.Bearer(r.Header.Values("Authorization")...)
		if auth.LooksLikeMerchantKey(shown) {
			merchant(w, r)
			return
		}
		identity, err := a.Verifier.Verify(shown, a.Now())
		if err != nil {
			unauthenticatedCaller(w)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		answer(w, r.WithContext(ctx), caller{userID: identity.UserID})
	}
}

// about says whose coupons a request is about that names the user; nil when it does not.
func (c caller) about(named *string) (userID string, bad *problem) {
	switch {
	case c.merchant == "" && named != nil:
		return "", invalidRequest("user_id", "The token says whose coupons these are: leave user_id out.")
	case c.merchant == "":
		return c.userID, nil
	case named == nil:
		return "", invalidRequest("user_id", "user_id is missing: say whose coupons these are.")
	}
	if err := sale.ValidateUserID(*named); err != nil {
		return "", invalidRequest("user_id", err.Error())
	}
	return *named, nil
}

// order is the caller's order of this id.
func (c caller) order(named *string, orderID string) (checkout.Order, *problem) {
	userID, bad := c.about(named)
	if bad == nil {
		bad = checkCode("order_id", orderID)
	}
	return checkout.Order{UserID: userID, OrderID: orderID, Merchant: c.merchant}, bad
}

// checkCode refuses ids, of an order system's choice, that are not 1 to 64 printable
// ASCII characters.
func checkCode(field, id string) *problem {
	ok := 1 <= len(id) && len(id) <= 64
	for i := range len(id) {
		ok = ok && ' ' <= id[i] && id[i] <= '~'
	}
	if !ok {
		return invalidRequest(field, field+" must have 1 to 64 printable ASCII characters.")
	}
	return nil
}
