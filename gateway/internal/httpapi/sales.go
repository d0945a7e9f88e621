package httpapi

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/catalog"
	"sluice/gateway/internal/language"
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

func describe(s *catalog.Sale, l language.Language, now time.Time) saleBody {
	e := s.Entry()
	snap, warm := s.Snapshot()
	if !warm { // what the catalogue says, and nothing to be had
		snap = sale.Snapshot{OpensAt: e.OpensAt, ClosesAt: e.ClosesAt, Total: e.Total}
	}
	p, _ := s.Progress()
	return saleBody{
		ID: e.ID, Kind: e.Kind, Title: e.TitleIn(l.Tag()), SKU: e.SKU, Price: e.PriceMinor, Currency: e.Currency,
		PerUserLimit: e.PerUserLimit, Mode: e.Mode, State: s.State(now),
		OpensAt: snap.OpensAt.UTC(), ClosesAt: snap.ClosesAt.UTC(),
		Availability: sale.AvailabilityOf(snap.Stock, snap.Total),
		Progress:     progressBody{Served: p.Served, Rate: p.RatePerSecond}, ServerTime: serverTime(s, now),
	}
}

// listSales is GET /v1/sales.
func (a *API) listSales(ctx *fasthttp.RequestCtx) {
	now, l := a.Catalog.Clock(), languageOf(ctx)
	bodies := []saleBody{}
	for _, s := range a.Catalog.All() {
		if !s.Entry().Retired {
			bodies = append(bodies, describe(s, l, now))
		}
	}
	writeSales(ctx, l, etag(l, bodies...), encode(map[string]any{"sales": bodies}))
}

// readSale is GET /v1/sales/{sale}.
func (a *API) readSale(ctx *fasthttp.RequestCtx, s *catalog.Sale) {
	l := languageOf(ctx)
	body := describe(s, l, s.Clock())
	writeSales(ctx, l, etag(l, body), encode(body))
}

func writeSales(ctx *fasthttp.RequestCtx, l language.Language, tag string, body []byte) {
	ctx.Response.Header.Set(fasthttp.HeaderVary, language.Header)
	writeCached(ctx, tag, maxAgeOfSale, "application/json", body)
	if ctx.Response.StatusCode() == fasthttp.StatusOK { // a 304 does not say again what the client has
		ctx.Response.Header.Set(fasthttp.HeaderContentLanguage, l.Tag())
	}
}

// etag is over everything but the clock, and of one language: titles that are the
// same in both do not make it the same answer.
func etag(l language.Language, bodies ...saleBody) string {
	h := fnv.New64a()
	h.Write([]byte(l.Tag()))
	for _, b := range bodies {
		b.ServerTime = time.Time{}
		h.Write(encode(b))
	}
	return fmt.Sprintf(`"%x"`, h.Sum64())
}
