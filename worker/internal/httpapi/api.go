package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"runtime"
	"strings"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// readTimeout bounds what one answer may wait for its request and the store.
const readTimeout = 5 * time.Second

// Verifier says whom a token speaks for.
type Verifier interface {
	Verify(token string, now time.Time) (auth.Identity, error)
}

// Orders are the rows of buyers' orders.
type Orders interface {
	// OrdersOf returns the newest orders of a buyer.
	OrdersOf(ctx context.Context, userID string, limit int) ([]sale.BuyerOrder, error)
	// OrderOf returns one, if it exists and is this buyer's.
	OrderOf(ctx context.Context, userID, id string) (order sale.BuyerOrder, found bool, err error)
	// Cancel cancels one that is pending and returns it as it then is, whatever
	// its state; found is as of OrderOf.
	Cancel(ctx context.Context, userID, id string) (order sale.BuyerOrder, found bool, err error)
}

// Backing is what the answers are made of.
type Backing struct {
	Verifier  Verifier
	Orders    Orders
	Provider  Provider
	Merchants Merchants
	Coupons   Coupons
	Checkout  Checkout
	Now       func() time.Time
}

type api struct {
	Backing
	log      *slog.Logger
	faults   service.Quiet
	refusals service.Quiet

	smallCarts, bigCarts *turns // to be priced
	bigReads             *turns // to be read to their end
	bigBodies            *turns // held in memory
}

// Carts that are priced, held or read at a time. Pricing has half of the processors and one
// for the carts that take long, so that it never keeps orders from being made. Those that
// are read, or wait to be held, are no more than their bytes.
const (
	cartLine     = 64
	bigCartsHeld = 8
	bigCartsRead = 32
)

// New answers GET /v1/orders and GET /v1/orders/{id}, POST /v1/orders/{id}/cancel,
// POST /v1/payments/webhook, GET /v1/merchant, GET /v1/coupons, POST /v1/quotes,
// POST /v1/coupons/lock, redeem, release and refund, and GET /openapi.yaml.
func New(b Backing, log *slog.Logger) http.Handler {
	a := &api{Backing: b, log: log,
		smallCarts: newTurns(max(1, runtime.GOMAXPROCS(0)/2), cartLine), bigCarts: newTurns(1, cartLine),
		bigReads: newTurns(bigCartsRead, bigCartsRead), bigBodies: newTurns(bigCartsHeld, cartLine)}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/orders", reading(a.forBuyer(a.listOrders)))
	mux.HandleFunc("/v1/orders/{id}", reading(a.forBuyer(a.oneOrder)))
	mux.HandleFunc("/v1/orders/{id}/cancel", posting(a.forBuyer(a.cancelOrder)))
	mux.HandleFunc("/v1/payments/webhook", posting(a.takeEvent))
	mux.HandleFunc("/v1/merchant", reading(a.forMerchant(anyScope, a.oneMerchant)))
	mux.HandleFunc("/v1/coupons", reading(a.forCaller(sale.ScopeQuotes, a.listCoupons)))
	mux.HandleFunc("/v1/quotes", posting(a.forCaller(sale.ScopeQuotes, a.quote)))
	mux.HandleFunc("/v1/coupons/lock", posting(a.forCaller(sale.ScopeCouponsLock, a.lock)))
	mux.HandleFunc("/v1/coupons/redeem", posting(a.forCaller(sale.ScopeCouponsRedeem, a.redeem)))
	mux.HandleFunc("/v1/coupons/release", posting(a.forCaller(sale.ScopeCouponsRelease, a.release)))
	mux.HandleFunc("/v1/coupons/refund", posting(a.forCaller(sale.ScopeCouponsRefund, a.refund)))
	mux.HandleFunc("/openapi.yaml", reading(describeAPI))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return oneSpelling(mux)
}

// oneSpelling lets no path through that would have to be decoded or cleaned first,
// so that whoever filters paths in front of the worker reads the same as it does.
func oneSpelling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decoded := r.URL.EscapedPath() != r.URL.Path
		if decoded || path.Clean(r.URL.Path) != r.URL.Path || !strings.HasPrefix(r.URL.Path, "/") {
			notFound(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// reading lets GET and HEAD through.
func reading(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			methodNotAllowed(w, "GET, HEAD")
			return
		}
		answer(w, r)
	}
}

// posting lets POST through.
func posting(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			methodNotAllowed(w, http.MethodPost)
			return
		}
		answer(w, r)
	}
}

// forBuyer lets authenticated buyers through, with a deadline. What it answers is
// the buyer's own and must not be cached.
func (a *api) forBuyer(answer func(w http.ResponseWriter, r *http.Request, userID string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		identity, err := a.Verifier.Verify(auth.Bearer(r.Header.Values("Authorization")...), a.Now())
		if err != nil {
			unauthenticated(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		answer(w, r.WithContext(ctx), identity.UserID)
	}
}

// fail answers for a fault of the store. The buyer is told nothing of it.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != context.Canceled && a.faults.Allow() { // else nobody waits for the answer any more
		a.log.Warn("orders and coupons not reached", "error", err)
	}
	unavailable("Orders and coupons cannot be reached just now. Nothing is lost; try again.").write(w)
}

// write answers with a body that can always be encoded. An error means that
// the buyer has gone.
func write(w http.ResponseWriter, contentType string, status int, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
