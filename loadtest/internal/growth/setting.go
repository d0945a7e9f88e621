package growth

import (
	"context"
	"errors"
	"fmt"

	"sluice/loadtest/internal/rig"
)

// What grows.
const (
	overSales    = "sales"
	overGateways = "gateways"
	overWorkers  = "workers"
	overUsers    = "users"
)

const units = 10_000_000 // of a sale that must not sell out

// setting is one stack to measure.
type setting struct {
	over                     string
	size                     int // of what grows
	sales, gateways, workers int
	users                    int // who have bought in the sale that is measured; 0: nobody
}

func (s setting) name() string { return fmt.Sprintf("%d %s", s.size, s.over) }

// figure is the name of one at this size.
func (s setting) figure(name string) string { return figureOf(s.over, s.size, name) }

func figureOf(over string, size int, name string) string {
	return fmt.Sprintf("%s_%d_%s", over, size, name)
}

// ids are the sales'.
func (s setting) ids() []string {
	all := make([]string, s.sales)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", s.over, i+1)
	}
	return all
}

// take starts the stack and measures it.
func (r *run) take(ctx context.Context, s setting, round int, f figures) (err error) {
	site, err := r.open(ctx, s, fmt.Sprintf("%s-%d-%d", s.over, s.size, round+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	if s.over == overWorkers {
		return site.orders(ctx, s, f)
	}
	return site.accepts(ctx, s, f)
}

// open are the sales of a setting.
func (s setting) open() []rig.Sale {
	var all []rig.Sale
	for _, id := range s.ids() {
		all = append(all, rig.Sale{ID: id, Total: units})
	}
	return all
}
