package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/loadtest/internal/report"
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
		if err := addFunnel(familiesOf(t, oneGateway), layers); err != nil {
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
	if err := addFunnel(familiesOf(t, "up 1\n"), map[string]report.Layer{}); err == nil {
		t.Error("metrics without a funnel were read as an empty one")
	}
}
