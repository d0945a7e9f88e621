package httpapi

import (
	"context"
	"errors"
	"net/http"

	"sluice/shared/pricing"
	"sluice/shared/strictjson"
)

var errBusy = errors.New("too many carts are priced at the moment")

// quoteBody is what a quote is asked with: a cart whose coupons are those that the user
// holds if the body has none, not even an empty list.
type quoteBody struct {
	UserID *string `json:"user_id"`
	pricing.Cart
}

// quote is POST /v1/quotes. A what-if, whose coupons are in the body, reads nothing: it
// is answered whatever has become of the stores.
func (a *api) quote(w http.ResponseWriter, r *http.Request, who caller) {
	body, done, bad := a.readCart(w, r, who)
	defer done()
	var asked quoteBody
	if bad == nil {
		asked, bad = readQuote(body, who)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	cart := asked.Cart
	if cart.Coupons == nil {
		var err error
		if cart, err = a.withOwn(r.Context(), who, asked); err != nil {
			a.fail(w, r, err)
			return
		}
	}
	big := len(body) >= smallCart
	switch quote, err := a.price(r.Context(), who, cart, big); {
	case errors.Is(err, errBusy):
		busyPricing().write(w)
	case err != nil:
		invalidCart(err, "").write(w)
	default:
		write(w, "application/json", http.StatusOK, quote)
	}
}

// readQuote reads a body whose cart may yet be one that cannot be priced.
func readQuote(body []byte, who caller) (quoteBody, *problem) {
	var asked quoteBody
	if field, err := strictjson.Decode(body, &asked, "currency"); err != nil {
		return asked, invalidRequest(field, err.Error())
	}
	if asked.Coupons == nil || asked.UserID != nil {
		if _, bad := who.about(asked.UserID); bad != nil {
			return asked, bad
		}
	}
	if bad := checkCart(asked.Cart, ""); bad != nil {
		return asked, bad
	}
	return asked, checkMoments(asked.Cart)
}

// withOwn gives a cart the coupons that its user could lock, at its moment.
func (a *api) withOwn(ctx context.Context, who caller, asked quoteBody) (pricing.Cart, error) {
	userID, _ := who.about(asked.UserID) // readQuote has seen to it
	usable, now, err := a.Coupons.UsableCoupons(ctx, userID, asked.At)
	if err != nil {
		return pricing.Cart{}, err
	}
	cart := asked.Cart
	cart.Coupons = make([]pricing.Coupon, len(usable))
	for i, c := range usable {
		cart.Coupons[i] = pricing.Coupon{ID: c.ID, Snapshot: c.Snapshot}
	}
	return cart.WithDefaults(now), nil
}

// price waits for its turn: a cart is bounded in the sets that are tried, not in time.
func (a *api) price(ctx context.Context, who caller, cart pricing.Cart, big bool) (pricing.Quote, error) {
	turns := a.smallCarts
	if big {
		turns = a.bigCarts
	}
	done, free := turns.enter(ctx, who)
	if !free {
		return pricing.Quote{}, errBusy
	}
	defer done()
	return pricing.Best(cart.WithDefaults(a.Now().UTC()))
}
