package compare

import (
	"context"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/stack"
)

// Sale is what a round sells, or gives out: then its template has its id.
type Sale struct {
	ID    string
	Total int
	Limit int // units that a buyer may have
	Goods bool
}

// Site is where a baseline works: the stores of the stack beside it.
type Site struct {
	DB      *pgx.Conn // for what it makes and drops
	Stack   stack.Info
	Program string // serves an instance when told InstanceCommand
}

// Baseline is another way to sell or give out, beside which Sluice is shown.
type Baseline interface {
	// Name begins its figures.
	Name() string
	// Notes say what it does, for whoever doubts it.
	Notes() []string
	// Open makes what it needs in a schema of its own, and starts its instances.
	Open(ctx context.Context, site Site, sales []Sale) (Shop, error)
}

// Shop is a baseline at work. Its instances take attempts as gateways do: POST
// /v1/sales/SALE/orders with a bearer token; 201 is a unit, 202 one that will be, 200 the
// one that the buyer has already, 409 /problems/sold-out none.
type Shop interface {
	URLs() []string
	// Schema has the tables that the judge reads. Of coupons: coupon_templates
	// (template_id, total, issued) and coupons (template_id, user_id, issued_at). Of goods:
	// orders (sale_id, user_id, state, created_at).
	Schema() string
	// Stop ends the instances. Everything stays for the judge.
	Stop(ctx context.Context) error
	// Drop removes what Open made.
	Drop(ctx context.Context) error
}

// ofCoupons are the baselines that give out coupons.
func ofCoupons() []Baseline { return []Baseline{incident{}} }

// ofGoods are those that sell goods.
func ofGoods() []Baseline { return []Baseline{readCheckInsert{}, conditionalUpdate{}, oneByOne{}} }
