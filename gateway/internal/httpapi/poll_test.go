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
	}{
		{"next", sale.StatusQueued, 0, 100, old, pollSoon},
		{"half the time to its turn", sale.StatusQueued, 600, 100, old, 3 * time.Second},
		{"far back", sale.StatusQueued, 1_000_000, 100, old, pollLate},
		{"nobody is served", sale.StatusQueued, 10, 0, old, pollLate},
		{"just come, after nothing was served", sale.StatusQueued, 10, 0, time.Second, pollSoon},
		{"just come, far back", sale.StatusQueued, 20_000, 1, time.Second, 5 * time.Second},
		{"workers unheard of", sale.StatusQueued, -1, 0, old, pollUntold},
		{"decided", sale.StatusConfirmed, -1, 100, old, pollFinal},
	} {
		var ahead *int64
		if tc.ahead >= 0 {
			ahead = &tc.ahead
		}
		ticket := sale.Ticket{Reservation: sale.Reservation{RID: tc.name}, Status: tc.status}
		got := time.Duration(pollAfter(ticket, ahead, tc.rate, tc.age)) * time.Millisecond
		if got < tc.want || got > tc.want*5/4 {
			t.Errorf("%s: %v, want %v and up to a quarter more", tc.name, got, tc.want)
		}
	}
}
