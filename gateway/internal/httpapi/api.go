package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/funnel"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

type tickets interface {
	Tickets(ctx context.Context, saleID string, epoch int64, rids []string) (sale.Snapshot, []*sale.Ticket, error)
	TicketsOf(ctx context.Context, saleID string, epoch int64, userID string) (sale.Snapshot, []*sale.Ticket, error)
}

// Parts are what the API works with.
type Parts struct {
	Catalog     *catalog.Catalog
	Funnel      *funnel.Funnel
	Exits       *funnel.Exits
	Tickets     tickets
	Verifier    funnel.Verifier
	Signer      *auth.TicketSigner
	ReadTimeout time.Duration // of one read of tickets
	Log         *slog.Logger
}

// API answers the gateway's public requests. It is safe for concurrent use.
type API struct {
	Parts
	refusals sync.Map // *catalog.Sale → *refusals
}

// New builds the API.
func New(p Parts) *API { return &API{Parts: p} }

// Handle answers one request. Paths are split by hand: a router would cost more
// than the refusal of a sold-out sale does.
func (a *API) Handle(ctx *fasthttp.RequestCtx) {
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
