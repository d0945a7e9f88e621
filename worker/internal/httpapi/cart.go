package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/shared/pricing"
)

// Bounds of a cart.
const (
	maxCart       = 2 << 20  // bytes of a body with a cart
	smallCart     = 64 << 10 // bytes from which one is big: a few hundred lines
	maxInline     = 1_000    // coupons in a body
	maxNameLength = 128      // characters
)

// restTimeout is how long the sender of a big cart may take for what is beyond smallCart.
const restTimeout = time.Second

// readCart reads a body that has a cart. A big one takes a place, and keeps it until
// done is called: they are held in memory, each many times its size once it is priced.
func (a *api) readCart(w http.ResponseWriter, r *http.Request, who caller) (body []byte, done func(), bad *problem) {
	limited := http.MaxBytesReader(w, r.Body, maxCart)
	body, err := io.ReadAll(io.LimitReader(limited, smallCart))
	if err != nil || len(body) < smallCart {
		return body, func() {}, unread(err, "2 MiB")
	}
	if body, bad = a.readRest(w, r, who, body, limited); bad != nil {
		return nil, func() {}, bad
	}
	done, free := a.bigBodies.enter(r.Context(), who)
	if !free {
		return nil, done, busyPricing()
	}
	return body, done, nil
}

// readRest reads what is behind the beginning of a big cart, in a place of its own and in
// bounded time: who sends slowly takes none of those in which carts are held to be priced.
func (a *api) readRest(w http.ResponseWriter, r *http.Request, who caller, begun []byte, from io.Reader) ([]byte, *problem) {
	done, free := a.bigReads.enter(r.Context(), who)
	defer done()
	if !free {
		return nil, busyPricing()
	}
	// No error from a connection; what is none needs no deadline. Once all is read the server lifts it.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTimeout))
	rest, err := io.ReadAll(from)
	return append(begun, rest...), unread(err, "2 MiB")
}

// checkCart refuses names that cannot be told apart or stored, and too many coupons: lines
// and parcels are bounded where bodies are read, and what it costs is pricing's to check.
// at is where the cart is in the body.
func checkCart(c pricing.Cart, at string) *problem {
	if len(c.Coupons) > maxInline {
		return invalidRequest(at+"coupons", "A quote may have 1000 coupons.")
	}
	for i, l := range c.Lines {
		if field := badName(l); field != "" {
			return notAName(fmt.Sprintf("%slines[%d].%s", at, i, field))
		}
	}
	for i, p := range c.Shipping {
		if p.Merchant != "" && !isName(p.Merchant) {
			return notAName(fmt.Sprintf("%sshipping[%d].merchant", at, i))
		}
	}
	for i, k := range c.Coupons {
		if !isName(k.ID) {
			return notAName(fmt.Sprintf("%scoupons[%d].id", at, i))
		}
	}
	return nil
}

// badName is the first name of a line that is none; a line may be of no merchant, SKU or
// category, and a parcel of no merchant.
func badName(l pricing.Line) (field string) {
	switch {
	case !isName(l.ID):
		return "id"
	case l.Merchant != "" && !isName(l.Merchant):
		return "merchant"
	case l.SKU != "" && !isName(l.SKU):
		return "sku"
	case l.Category != "" && !isName(l.Category):
		return "category"
	}
	return ""
}

func isName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxNameLength && !strings.ContainsFunc(name, unicode.IsControl)
}

func notAName(field string) *problem {
	return invalidRequest(field, field+" must have 1 to 128 characters, none of them a control character.")
}

// checkMoments refuses times that are not spelled in UTC, with a Z.
func checkMoments(c pricing.Cart) *problem {
	if c.At.Location() != time.UTC {
		return notUTC("at")
	}
	for i, k := range c.Coupons {
		switch {
		case k.StartsAt.Location() != time.UTC:
			return notUTC(fmt.Sprintf("coupons[%d].starts_at", i))
		case k.EndsAt.Location() != time.UTC:
			return notUTC(fmt.Sprintf("coupons[%d].ends_at", i))
		}
	}
	return nil
}

func notUTC(field string) *problem {
	return invalidRequest(field, field+" must be a time in UTC, with a Z, such as 2026-12-01T10:00:00Z.")
}
