package collect

import (
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// QueueWait measures how long reservations waited from being accepted until their
// ticket was confirmed, both by Redis's clock. A ticket that has moved on since
// no longer says when that was, and is left out.
func QueueWait(tickets []sale.Ticket) report.QueueWait {
	var waits record.Latencies
	for _, t := range tickets {
		if t.Status == sale.StatusConfirmed {
			waits.Add("wait", t.UpdatedAt.Sub(t.AcceptedAt))
		}
	}
	s := waits.Summaries()["wait"]
	seconds := func(ms float64) float64 { return ms / float64(time.Second/time.Millisecond) }
	return report.QueueWait{P50: seconds(s.P50), P95: seconds(s.P95), P99: seconds(s.P99), Max: seconds(s.Max)}
}
