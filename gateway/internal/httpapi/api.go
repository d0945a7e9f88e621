package httpapi

import (
	"bytes"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/client"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/tickets"
	"sluice/gateway/internal/web"
	"sluice/shared/auth"
	"sluice/shared/service"
)

// Parts are what the API works with.
type Parts struct {
	Catalog    *catalog.Catalog
	Proxies    client.Proxies
	Address    *funnel.AddressLimit
	Users      *funnel.UserLimit
	Funnel     *funnel.Funnel
	Exits      *funnel.Exits
	Tickets    *tickets.Reader
	Verifier   funnel.Verifier
	UserHeader string // in which trusted proxies name the user; "" for none
	Signer     *auth.TicketSigner
	Alive      time.Duration // between signs of life in a stream of events
	Page       web.Page
	Local      *web.Local // nil leaves it out
	Log        *slog.Logger
}

// API answers the gateway's public requests. It is safe for concurrent use.
type API struct {
	Parts
	refusals sync.Map // *catalog.Sale → *refusals
	draining atomic.Bool
	faults   service.Quiet
}

// New builds the API.
func New(p Parts) *API { return &API{Parts: p} }

// redisTime is now for whatever is decided here and not of one sale.
func (a *API) redisTime() time.Time { return a.Catalog.Now(a.Catalog.Clock()) }

// Drain closes every connection after its next answer, so that clients go elsewhere.
func (a *API) Drain() { a.draining.Store(true) }

// Forget drops what is kept of a sale that the catalogue has no more.
func (a *API) Forget(s *catalog.Sale) { a.refusals.Delete(s) }

// Handle answers one request. Paths are split by hand: a router would cost more
// than the refusal of a sold-out sale does.
func (a *API) Handle(ctx *fasthttp.RequestCtx) {
	if a.draining.Load() {
		ctx.SetConnectionClose()
	}
	path := ctx.Path()
	switch {
	case framedTwice(ctx):
		refuseFraming(ctx)
	case trailed(ctx):
		refuseTrailers(ctx)
	case !spelled(ctx):
		notFound(ctx)
	case bytes.HasPrefix(path, []byte("/v1/sales/")):
		a.routeSale(ctx, path[len("/v1/sales/"):])
	case bytes.HasPrefix(path, []byte("/v1/tickets/")):
		a.routeTicket(ctx, path[len("/v1/tickets/"):])
	case string(path) == "/v1/sales":
		if reading(ctx) {
			a.listSales(ctx)
		}
	case string(path) == "/":
		if reading(ctx) {
			a.readPage(ctx)
		}
	case bytes.HasPrefix(path, []byte("/local/")):
		a.routeLocal(ctx, path[len("/local/"):])
	case string(path) == "/openapi.yaml":
		if reading(ctx) {
			describeAPI(ctx)
		}
	default:
		notFound(ctx)
	}
}

// spelled reports whether the path came as it is. What would have to be decoded,
// cleaned or cut off first (a fragment is no part of a request) is nothing here, so
// that whoever filters paths in front of the gateway reads the same as it does.
func spelled(ctx *fasthttp.RequestCtx) bool {
	sent := ctx.URI().PathOriginal()
	return bytes.Equal(ctx.Path(), sent) && bytes.IndexByte(sent, '%') < 0 && !cut(ctx.RequestURI())
}

// cut reports whether a fragment was cut off the path of a target.
func cut(target []byte) bool {
	fragment := bytes.IndexByte(target, '#')
	return fragment >= 0 && bytes.IndexByte(target[:fragment], '?') < 0
}

func (a *API) routeSale(ctx *fasthttp.RequestCtx, rest []byte) {
	id, action, deeper := bytes.Cut(rest, []byte("/"))
	s := a.Catalog.Lookup(id)
	switch {
	case len(id) == 0:
		notFound(ctx)
	case !deeper:
		a.readOf(ctx, s, a.readSale)
	case string(action) == "orders":
		a.attempt(ctx, s)
	case string(action) == "tickets/me":
		a.readOf(ctx, s, a.myTickets)
	default:
		notFound(ctx)
	}
}

func (a *API) routeTicket(ctx *fasthttp.RequestCtx, rest []byte) {
	ticket, action, deeper := bytes.Cut(rest, []byte("/"))
	switch {
	case len(ticket) == 0 || deeper && string(action) != "events":
		notFound(ctx)
	case !reading(ctx):
	case deeper:
		a.followTicket(ctx, string(ticket))
	default:
		a.readTicket(ctx, string(ticket))
	}
}

// readOf answers a read that needs a sale of the catalogue.
func (a *API) readOf(ctx *fasthttp.RequestCtx, s *catalog.Sale, read func(*fasthttp.RequestCtx, *catalog.Sale)) {
	switch {
	case !reading(ctx):
	case s == nil:
		noSuchSale(ctx)
	default:
		read(ctx, s)
	}
}

// reading reports whether the method reads; if not, it has answered.
func reading(ctx *fasthttp.RequestCtx) bool {
	if ctx.IsGet() || ctx.IsHead() {
		return true
	}
	methodNotAllowed(ctx, "GET, HEAD")
	return false
}
