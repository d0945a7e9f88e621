package httpapi

import (
	"bytes"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/gateway/internal/tickets"
	"sluice/shared/auth"
)

// Parts are what the API works with.
type Parts struct {
	Catalog  *catalog.Catalog
	Address  *funnel.AddressLimit
	Funnel   *funnel.Funnel
	Exits    *funnel.Exits
	Tickets  *tickets.Reader
	Verifier funnel.Verifier
	Signer   *auth.TicketSigner
	Log      *slog.Logger
}

// API answers the gateway's public requests. It is safe for concurrent use.
type API struct {
	Parts
	refusals sync.Map // *catalog.Sale → *refusals
	draining atomic.Bool
}

// New builds the API.
func New(p Parts) *API { return &API{Parts: p} }

// Drain closes every connection after its next answer, so that clients go elsewhere.
func (a *API) Drain() { a.draining.Store(true) }

// Handle answers one request. Paths are split by hand: a router would cost more
// than the refusal of a sold-out sale does.
func (a *API) Handle(ctx *fasthttp.RequestCtx) {
	if a.draining.Load() {
		ctx.SetConnectionClose()
	}
	rest, ok := bytes.CutPrefix(ctx.Path(), []byte("/v1/"))
	if !ok {
		notFound(ctx)
		return
	}
	collection, rest, deeper := bytes.Cut(rest, []byte("/"))
	switch string(collection) {
	case "sales":
		a.routeSales(ctx, rest, deeper)
	case "tickets":
		a.routeTickets(ctx, rest)
	default:
		notFound(ctx)
	}
}

func (a *API) routeSales(ctx *fasthttp.RequestCtx, rest []byte, deeper bool) {
	if !deeper {
		if reading(ctx) {
			a.listSales(ctx)
		}
		return
	}
	id, action, _ := bytes.Cut(rest, []byte("/"))
	s := a.Catalog.Lookup(id)
	switch string(action) {
	case "orders":
		a.attempt(ctx, s)
	case "tickets/me":
		a.readOf(ctx, s, a.myTickets)
	case "":
		a.readOf(ctx, s, a.readSale)
	default:
		notFound(ctx)
	}
}

func (a *API) routeTickets(ctx *fasthttp.RequestCtx, ticket []byte) {
	switch {
	case len(ticket) == 0 || bytes.IndexByte(ticket, '/') >= 0:
		notFound(ctx)
	case reading(ctx):
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
