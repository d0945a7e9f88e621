package main

import (
	"context"
	"fmt"

	"sluice/shared/jetqueue"
	"sluice/shared/sale"
	"sluice/shared/service"
	"sluice/warmup/internal/salesfile"
)

// fits refuses sales whose hand-overs may, with those of the sales that are there
// already, take more than the stream may hold: it would refuse hand-overs, and
// gateways would answer 503, in the middle of a sale. A file that adds nothing is not
// refused, so that an apply that was stopped can be finished.
func (s *stores) fits(ctx context.Context, sales []salesfile.Sale) error {
	usage, err := s.queue.Usage(ctx)
	if err != nil || usage.MaxBytes <= 0 {
		return err
	}
	stored, err := s.postgres.Entries(ctx)
	if err != nil {
		return err
	}
	totals := make(map[string]int64, len(stored)+len(sales))
	loaded := make(map[string]bool, len(stored))
	for _, e := range stored {
		loaded[e.ID] = e.Epoch > 0
		if !e.Retired {
			totals[e.ID] = e.Total
		}
	}
	before := mostBytes(totals, usage.MaxMessagesPerSale)
	largest := sale.Sale{}
	for _, one := range sales {
		if loaded[one.ID] {
			continue // it keeps its total
		}
		totals[one.ID] = one.Total
		if one.Total > largest.Total {
			largest = one.Sale
		}
	}
	after := mostBytes(totals, usage.MaxMessagesPerSale)
	if after <= usage.MaxBytes || after <= before {
		return nil
	}
	return fmt.Errorf("cannot apply sales: the hand-overs of all %d sales that are not retired may take %d bytes, and stream %s may hold %d: "+
		"raise that with warmup migrate -stream-max-bytes (%s), lower total in the sales file (the most is %d, of sale %s), "+
		"retire sales that are over, or say -oversubscribe (%s) if they never run at once",
		len(totals), after, jetqueue.StreamName, usage.MaxBytes, service.Variable("stream-max-bytes"),
		largest.Total, largest.ID, service.Variable("oversubscribe"))
}

func mostBytes(totals map[string]int64, maxMessages int64) (sum int64) {
	for _, total := range totals {
		sum += jetqueue.MostBytes(total, maxMessages)
	}
	return sum
}
