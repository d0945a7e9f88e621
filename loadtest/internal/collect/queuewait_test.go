package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

func TestQueueWait_CountsConfirmedTickets(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	ticket := func(status sale.Status, wait time.Duration) sale.Ticket {
		return sale.Ticket{Reservation: sale.Reservation{AcceptedAt: at}, Status: status, UpdatedAt: at.Add(wait)}
	}
	got := QueueWait([]sale.Ticket{
		ticket(sale.StatusConfirmed, 500*time.Millisecond), ticket(sale.StatusConfirmed, 1500*time.Millisecond),
		ticket(sale.StatusQueued, 0), ticket(sale.StatusExpired, time.Hour),
	})
	if got.P50 < 0.49 || got.P50 > 0.51 || got.Max < 1.49 || got.Max > 1.51 {
		t.Errorf("queue wait %+v", got)
	}
}

func TestClaimWait_CountsTicketsThatHoldACoupon(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	ticket := func(status sale.Status, wait time.Duration) sale.Ticket {
		return sale.Ticket{Reservation: sale.Reservation{AcceptedAt: at}, Status: status, UpdatedAt: at.Add(wait)}
	}
	got := ClaimWait([]sale.Ticket{ticket(sale.StatusPaid, 200*time.Millisecond), ticket(sale.StatusConfirmed, time.Hour), ticket(sale.StatusRejected, time.Hour)})
	if got.Max < 0.19 || got.Max > 0.21 {
		t.Errorf("wait %+v", got)
	}
}

func TestQueueWait_BucketsCountEveryTicketOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	var tickets []sale.Ticket
	for _, wait := range []time.Duration{-time.Millisecond, 3, 7 * time.Millisecond, 99 * time.Millisecond, 100 * time.Millisecond} {
		tickets = append(tickets, sale.Ticket{Reservation: sale.Reservation{AcceptedAt: at}, Status: sale.StatusConfirmed, UpdatedAt: at.Add(wait)})
	}
	tickets = append(tickets, sale.Ticket{Reservation: sale.Reservation{AcceptedAt: at}, Status: sale.StatusPaid, UpdatedAt: at.Add(time.Hour)})
	got := QueueWait(tickets)
	var total int64
	for _, b := range got.Buckets {
		total += b.Count
	}
	first, last := got.Buckets[0], got.Buckets[len(got.Buckets)-1]
	if total != 5 || len(got.Buckets) != 21 || first != (report.Bucket{UpTo: 0.005, Count: 2}) || last != (report.Bucket{UpTo: 0.105, Count: 1}) {
		t.Errorf("buckets %+v", got.Buckets)
	}
	if diff := cmp.Diff(report.QueueWait{}, QueueWait(nil)); diff != "" {
		t.Errorf("without tickets: %s", diff)
	}
}

func TestBucketWidth_IsRoundAndWideEnough(t *testing.T) {
	t.Parallel()
	for longest, want := range map[time.Duration]time.Duration{
		0: time.Millisecond, 24 * time.Millisecond: time.Millisecond, 25 * time.Millisecond: 2 * time.Millisecond,
		time.Second: 50 * time.Millisecond, time.Hour: 200 * time.Second,
	} {
		if got := bucketWidth(longest); got != want {
			t.Errorf("buckets up to %s are %s wide, want %s", longest, got, want)
		}
	}
}
