package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

const oneGateway = `# HELP sluice_funnel_entered_total Attempts that entered a layer.
# TYPE sluice_funnel_entered_total counter
sluice_funnel_entered_total{layer="memory"} 100
sluice_funnel_entered_total{layer="reserve"} 40
# TYPE sluice_funnel_exits_total counter
sluice_funnel_exits_total{layer="memory",outcome="sold_out"} 60
sluice_funnel_exits_total{layer="reserve",outcome="replay"} 0
`

func TestAddFunnel_GatewaysAddUp(t *testing.T) {
	t.Parallel()
	layers := make(map[string]report.Layer)
	for range 2 {
		if err := addFunnel(strings.NewReader(oneGateway), layers); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]report.Layer{
		"memory":  {Entered: 200, Exits: map[string]int64{"sold_out": 120}},
		"reserve": {Entered: 80, Exits: map[string]int64{"replay": 0}},
	}
	if diff := cmp.Diff(want, layers); diff != "" {
		t.Error(diff)
	}
}

func TestAddFunnel_MissingCountersAreAnError(t *testing.T) {
	t.Parallel()
	if err := addFunnel(strings.NewReader("up 1\n"), map[string]report.Layer{}); err == nil {
		t.Error("metrics without a funnel were read as an empty one")
	}
}

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
	if none := QueueWait(nil); none != (report.QueueWait{}) {
		t.Errorf("queue wait of nothing %+v", none)
	}
}
