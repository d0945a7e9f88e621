package growth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/loadtest/internal/report"
)

func TestSteps_AreTimesTheLeastSizeAndSayWhatGrewFromNothing(t *testing.T) {
	t.Parallel()
	point := func(size, median float64) report.CurvePoint {
		return report.CurvePoint{Size: size, Spread: report.SpreadOf([]float64{median})}
	}
	for _, c := range []struct {
		points []report.CurvePoint
		want   []string
	}{
		{[]report.CurvePoint{point(1, 200), point(10, 200), point(100, 780)}, []string{"× 1.00 from 1 to 10", "× 3.90 from 1 to 100"}},
		{[]report.CurvePoint{point(1, 0), point(4, 0.25)}, []string{"from 0 to 0.25 (1 to 4)"}},
		{[]report.CurvePoint{point(1, 5)}, nil},
	} {
		if diff := cmp.Diff(c.want, steps(report.Curve{Points: c.points})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestConclude_SizesOfUsersAreThoseWhoHadBought(t *testing.T) {
	t.Parallel()
	r := run{Config: Config{Users: []int{100}}, rounds: []figures{{"users_100_p99_ms": 2, "users_100_had_bought": 110}}}
	r.conclude()
	if len(r.rep.Curves) != 1 || r.rep.Curves[0].Points[0].Size != 110 {
		t.Errorf("%+v", r.rep.Curves)
	}
}

func TestConclude_OneGatewayIsTheStackOfOneSale(t *testing.T) {
	t.Parallel()
	r := run{Config: Config{Sales: []int{1}, Gateways: []int{1, 4}}, rounds: []figures{
		{"sales_1_cpu_us": 100, "gateways_4_cpu_us": 125}, {"sales_1_cpu_us": 50, "gateways_4_cpu_us": 75}, {"sales_1_cpu_us": 80},
	}}
	r.conclude()
	if got := r.rep.Ratios[FourGateways]; got != (report.Spread{Median: 1.375, Min: 1.25, Max: 1.5}) {
		t.Errorf("ratio of each round: %+v", got)
	}
	for _, c := range r.rep.Curves {
		if c.Name == "gateways_cpu_us" && (len(c.Points) != 2 || c.Points[0].Median != 80) {
			t.Errorf("%+v", c)
		}
	}
}
