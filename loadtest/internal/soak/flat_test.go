package soak

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	tested = 10 * time.Minute
	every  = 5 * time.Second
)

func readingsOf(value func(seconds float64) float64) (all []reading) {
	for at := time.Duration(0); at <= tested; at += every {
		all = append(all, reading{at, value(at.Seconds())})
	}
	return all
}

func TestJudgeSeries_TellsALeakFromWhatComesAndGoes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		value func(seconds float64) float64
		flat  bool
	}{
		"constant":                              {func(float64) float64 { return 100 }, true},
		"noise":                                 {func(float64) float64 { return 100 + 30*random.Float64() }, true},
		"grows in the first half alone":         {func(s float64) float64 { return min(s, 300) }, true},
		"falls":                                 {func(s float64) float64 { return 1000 - s }, true},
		"comes and goes":                        {func(s float64) float64 { return 100 + 50*math.Sin(s/10) }, true},
		"a peak":                                {func(s float64) float64 { return 100 + 900*math.Max(0, 1-math.Abs(s-500)/10) }, true},
		"started again a minute, and warms up":  {func(s float64) float64 { return 50 + min(math.Mod(s, 60), 20) }, true},
		"grows less than a fifth in the second": {func(s float64) float64 { return 100 + s/20 }, true},
		"grows by half":                         {func(s float64) float64 { return 100 + s/4 }, false},
		"grows by half, in noise":               {func(s float64) float64 { return 100 + s/3 + 20*random.Float64() }, false},
		"grows, in steps":                       {func(s float64) float64 { return 100 + 50*math.Floor(s/100) }, false},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they draw from one source
			g := judgeSeries(quantity{name: "it"}, readingsOf(c.value), tested)
			if g.Flat != c.flat || !g.Judged {
				t.Errorf("flat %v, grew by %.1f, may grow by %.1f", g.Flat, g.Grew, g.May)
			}
		})
	}
}

func TestJudgeSeries_LetsWhatIsCountedGrowLess(t *testing.T) {
	t.Parallel()
	grows := readingsOf(func(s float64) float64 { return 100 + s/20 })
	if g := judgeSeries(quantity{name: "it", counted: true}, grows, tested); !g.Judged || g.Flat {
		t.Errorf("%+v", g)
	}
	if g := judgeSeries(quantity{name: "it", counted: true}, readingsOf(func(s float64) float64 { return 100 + s/50 }), tested); !g.Flat {
		t.Errorf("%+v", g)
	}
}

func TestJudgeSeries_ToleratesWhatIsSmall(t *testing.T) {
	t.Parallel()
	doubles := readingsOf(func(s float64) float64 { return 1 + s/300 })
	if g := judgeSeries(quantity{name: "it", comesAndGoes: 10}, doubles, tested); !g.Flat {
		t.Errorf("%+v", g)
	}
	if g := judgeSeries(quantity{name: "it"}, doubles, tested); g.Flat {
		t.Errorf("%+v", g)
	}
}

func TestJudgeSeries_SaysNothingOfWhatIsKeptOrHardlyRead(t *testing.T) {
	t.Parallel()
	grows := readingsOf(func(s float64) float64 { return s })
	if g := judgeSeries(quantity{name: "it", kept: "rows"}, grows, tested); g.Judged || g.Grew < 299 {
		t.Errorf("%+v", g)
	}
	if g := judgeSeries(quantity{name: "it"}, grows[:len(grows)/2+5], tested); g.Judged {
		t.Errorf("%+v", g)
	}
}
