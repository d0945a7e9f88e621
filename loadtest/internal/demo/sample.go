package demo

import (
	"context"
	"fmt"
	"slices"

	"sluice/loadtest/internal/record"
	"sluice/shared/client"
)

// sample is what winners were told who asked for their tickets after the sale, as
// a buyer does whose 202 was lost.
type sample struct {
	asked, found int
	missed       string // what the first who did not find theirs was told
}

func (s sample) fact() fact {
	return fact{s.asked > 0 && s.found == s.asked, "I3",
		fmt.Sprintf("%d of %d winners found their ticket by tickets/me after the sale%s", s.found, s.asked, s.missed)}
}

// askForTickets lets a sample of the winners ask one gateway or the other.
func (r *run) askForTickets(ctx context.Context) sample {
	winners := r.tally.winners.All()
	var s sample
	for i := 0; i < len(winners) && ctx.Err() == nil; i += max(1, len(winners)/sampleSize) {
		s.asked++
		if missed := r.askForTicket(ctx, winners[i], i); missed != "" && s.missed == "" {
			s.missed = ": " + missed
		} else if missed == "" {
			s.found++
		}
	}
	return s
}

// askForTicket says why the winner's own ticket was not found, "" when it was.
func (r *run) askForTicket(ctx context.Context, w record.Winner, turn int) (missed string) {
	buyer, err := r.buyer(w.Buyer, false, turn)
	if err != nil {
		return err.Error()
	}
	mine, err := buyer.MyTickets(ctx, r.SaleID)
	if err != nil {
		return err.Error()
	}
	if !slices.ContainsFunc(mine, func(t client.Ticket) bool { return t.Ticket == w.Ticket }) {
		return fmt.Sprintf("%s has %d tickets, not the one they were answered with (%s)", userID(w.Buyer), len(mine), w.RID)
	}
	return ""
}
