package httpapi

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestPollAfter_TheFurtherBackTheLater(t *testing.T) {
	t.Parallel()
	const old = time.Minute
	for _, tc := range []struct {
		name   string
		status sale.Status
		ahead  int64 // −1 is unknown
		rate   float64
		age    time.Duration
		want   time.Duration
		hold   time.Duration // from its acceptance to the end of its time to pay; 0 is none
	}{
		{"next", sale.StatusQueued, 0, 100, old, pollSoon, 0},
		{"half the time to its turn", sale.StatusQueued, 600, 100, old, 3 * time.Second, 0},
		{"far back", sale.StatusQueued, 1_000_000, 100, old, pollLate, 0},
		{"nobody is served", sale.StatusQueued, 10, 0, old, pollLate, 0},
		{"just come, after nothing was served", sale.StatusQueued, 10, 0, time.Second, pollSoon, 0},
		{"just come, far back", sale.StatusQueued, 20_000, 1, time.Second, 5 * time.Second, 0},
		{"just come, workers unheard of", sale.StatusQueued, -1, 0, time.Second, pollUntold, 0},
		{"workers unheard of", sale.StatusQueued, -1, 0, 5 * time.Second, 5 * time.Second, 0},
		{"workers unheard of for long", sale.StatusQueued, -1, 0, time.Minute, pollLate, 0},
		{"decided", sale.StatusConfirmed, -1, 100, old, pollFinal, 0},
		{"to be paid later", sale.StatusConfirmed, -1, 100, old, pollFinal, time.Hour},
		{"to be paid soon", sale.StatusConfirmed, -1, 100, old, 5*time.Second + pollUnpaid, old + 5*time.Second},
		{"to be paid by now", sale.StatusConfirmed, -1, 100, old, pollSoon, old - time.Minute/2},
	} {
		var ahead *int64
		if tc.ahead >= 0 {
			ahead = &tc.ahead
		}
		ticket := sale.Ticket{Reservation: sale.Reservation{RID: tc.name}, Status: tc.status}
		if ticket.AcceptedAt = time.Now(); tc.hold > 0 {
			ticket.PayBy = ticket.AcceptedAt.Add(tc.hold)
		}
		got := time.Duration(pollAfter(ticket, ahead, tc.rate, tc.age)) * time.Millisecond
		if got < tc.want || got > tc.want*5/4 {
			t.Errorf("%s: %v, want %v and up to a quarter more", tc.name, got, tc.want)
		}
	}
}
