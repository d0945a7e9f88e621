package collect

import (
	"math"
	"slices"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// QueueWait measures how long reservations waited from being accepted until their
// ticket was confirmed, both by Redis's clock. A ticket that has moved on since
// no longer says when that was, and is left out.
func QueueWait(tickets []sale.Ticket) report.QueueWait {
	return queueWait(tickets, sale.StatusConfirmed)
}

// ClaimWait is QueueWait of a sale of coupons, whose orders are paid from the first.
func ClaimWait(tickets []sale.Ticket) report.QueueWait { return queueWait(tickets, sale.StatusPaid) }

func queueWait(tickets []sale.Ticket, decided sale.Status) report.QueueWait {
	var (
		waits     []time.Duration
		summaries record.Latencies
	)
	for _, t := range tickets {
		if t.Status == decided {
			wait := max(0, t.UpdatedAt.Sub(t.AcceptedAt))
			waits = append(waits, wait)
			summaries.Add("wait", wait)
		}
	}
	s := summaries.Summaries()["wait"]
	seconds := func(ms float64) float64 { return ms / float64(time.Second/time.Millisecond) }
	return report.QueueWait{P50: seconds(s.P50), P95: seconds(s.P95), P99: seconds(s.P99), Max: seconds(s.Max), Buckets: distribution(waits)}
}

// mostBuckets is how fine a distribution is, at most.
const mostBuckets = 25

// distribution counts waits in buckets of one width, from zero to the longest.
func distribution(waits []time.Duration) []report.Bucket {
	if len(waits) == 0 {
		return nil
	}
	width := bucketWidth(slices.Max(waits))
	buckets := make([]report.Bucket, int(slices.Max(waits)/width)+1)
	for i := range buckets {
		buckets[i].UpTo = (time.Duration(i+1) * width).Seconds()
	}
	for _, w := range waits {
		buckets[int(w/width)].Count++
	}
	return buckets
}

// bucketWidth is the least of 1, 2, 5, 10, 20, … milliseconds that is wide enough.
func bucketWidth(longest time.Duration) time.Duration {
	for exponent := 0; ; exponent++ {
		for _, digit := range []float64{1, 2, 5} {
			width := time.Duration(digit*math.Pow10(exponent)) * time.Millisecond
			if longest/width < mostBuckets {
				return width
			}
		}
	}
}
