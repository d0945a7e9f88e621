package httpapi

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// saleBody describes a sale to anybody.
type saleBody struct {
	ID           string            `json:"id"`
	Kind         sale.Kind         `json:"kind"`
	Title        string            `json:"title"`
	SKU          string            `json:"sku"`
	Price        int64             `json:"price"` // minor units of currency
	Currency     string            `json:"currency"`
	PerUserLimit int               `json:"per_user_limit"`
	Mode         sale.Mode         `json:"mode"`
	State        sale.State        `json:"state"`
	OpensAt      time.Time         `json:"opens_at"`
	ClosesAt     time.Time         `json:"closes_at"`
	Availability sale.Availability `json:"availability"`
	Progress     progressBody      `json:"progress"`
	ServerTime   time.Time         `json:"server_time"` // Redis time
}

type progressBody struct {
	Served int64   `json:"served"`
	Rate   float64 `json:"rate"` // a second
}

const maxAgeOfSale = "public, max-age=1"

func describe(s *catalog.Sale, now time.Time) saleBody {
	e := s.Entry()
	snap, warm := s.Snapshot()
	if !warm { // what the catalogue says, and nothing to be had
		snap = sale.Snapshot{OpensAt: e.OpensAt, ClosesAt: e.ClosesAt, Total: e.Total}
	}
	p, _ := s.Progress()
	return saleBody{
		ID: e.ID, Kind: e.Kind, Title: e.Title, SKU: e.SKU, Price: e.PriceMinor, Currency: e.Currency,
		PerUserLimit: e.PerUserLimit, Mode: e.Mode, State: s.State(now),
		OpensAt: snap.OpensAt.UTC(), ClosesAt: snap.ClosesAt.UTC(),
		Availability: sale.AvailabilityOf(snap.Stock, snap.Total),
		Progress:     progressBody{Served: p.Served, Rate: p.RatePerSecond}, ServerTime: serverTime(s, now),
	}
}

// listSales is GET /v1/sales.
func (a *API) listSales(ctx *fasthttp.RequestCtx) {
	now := a.Catalog.Clock()
	bodies := []saleBody{}
	for _, s := range a.Catalog.All() {
		if !s.Entry().Retired {
			bodies = append(bodies, describe(s, now))
		}
	}
	tag := etag(bodies...)
	writeCached(ctx, tag, maxAgeOfSale, "application/json", encode(map[string]any{"sales": bodies}))
}

// readSale is GET /v1/sales/{sale}.
func (a *API) readSale(ctx *fasthttp.RequestCtx, s *catalog.Sale) {
	body := describe(s, s.Clock())
	writeCached(ctx, etag(body), maxAgeOfSale, "application/json", encode(body))
}

// etag is over everything but the clock.
func etag(bodies ...saleBody) string {
	h := fnv.New64a()
	for _, b := range bodies {
		b.ServerTime = time.Time{}
		h.Write(encode(b))
	}
	return fmt.Sprintf(`"%x"`, h.Sum64())
}
