package chaos

import (
	"context"
	"fmt"

	"sluice/loadtest/internal/collect"
	"sluice/shared/sale"
)

// handedOver are the reservations of the sale that the stream has, each once, in the order
// in which they were first handed over.
func (r *Round) handedOver(ctx context.Context) (all []sale.Reservation, err error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	seen := make(map[string]bool)
	err = r.stores.Queue.HandOvers(ctx, r.saleID, func(_ uint64, h sale.HandOver, unreadable error) error {
		for _, v := range h.Reservations {
			if !seen[v.RID] {
				seen[v.RID] = true
				all = append(all, v)
			}
		}
		return unreadable
	})
	return all, err
}

// handOver publishes reservations as a gateway or a sweeper would, past every proxy.
func (r *Round) handOver(ctx context.Context, e sale.Entry, reservations []sale.Reservation) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := r.stores.Queue.Publish(ctx, sale.HandOver{
		SaleID: r.saleID, Epoch: e.Epoch, PriceMinor: e.PriceMinor, Currency: e.Currency, Reservations: reservations,
	})
	return err
}

// known is how many reservations were brought to workers that Postgres knew already.
func (r *Round) known(ctx context.Context) (sum float64, err error) {
	for i, w := range r.stack.Info().Workers {
		read, err := collect.ReadWorker(ctx, w.AdminURL)
		if err != nil {
			return 0, fmt.Errorf("cannot read worker-%d: %w", i, err)
		}
		sum += read.Known
	}
	return sum, nil
}
