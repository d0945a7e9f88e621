package capacity

import (
	"encoding/json"
	"strings"
	"testing"
)

// priced are round costs, in seconds: a refusal 10 µs, and so on.
func priced() Costs {
	return Costs{
		Refusal:  Cost{Gateways: 10e-6},
		Script:   Cost{Gateways: 20e-6, Redis: 5e-6},
		Accept:   Cost{Gateways: 40e-6, Redis: 5e-6, NATS: 10e-6},
		Order:    Cost{Gateways: 1e-6, Redis: 5e-6, NATS: 5e-6, Workers: 20e-6, Postgres: 40e-6},
		Poll:     Cost{Gateways: 20e-6, Redis: 5e-6},
		Together: 100, Message: 0.0005, BytesPerOrder: 1000,
	}
}

// evenly is a demand without polls, news or a hottest sale to speak of.
func evenly() Demand {
	return Demand{Buyers: 1_000_000, Seconds: 10, AttemptsPerBuyer: 1, Units: 100_000, Sales: 10, Hottest: 0.1, PollEvery: 1e9,
		CoresPerGateway: 4, CoresPerWorker: 4, CoresOfPostgres: 16, Replicas: 3, Utilisation: 0.5}
}

func TestPlan_WhatBindsIsTheSlowestStation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Demand, *Costs)
		want   string
		until  float64 // seconds until the last order; 0 is not looked at
	}{
		"buyers come slowly": {func(d *Demand, _ *Costs) { d.Seconds = 2000 }, OfArrivals, 200},
		"a slow disk":        {func(d *Demand, _ *Costs) { d.Message = 0.02; d.Sales = 1; d.Hottest = 1 }, OfDisk, 0},
		"a small Postgres":   {func(d *Demand, _ *Costs) { d.CoresOfPostgres = 1 }, OfPostgres, 8},
		"one sale has it all, and scripts are dear": {func(d *Demand, c *Costs) {
			d.Hottest, c.Accept[Redis] = 1, 500e-6
		}, OfShard, 102}, // 100,000 × (500 + 5 + 5) µs, with a poll each, at half of one core
		"NATS is slow": {func(_ *Demand, c *Costs) { c.Accept[NATS] = 200e-6 }, OfLeader, 41},
	} {
		d, costs := evenly(), priced()
		c.change(&d, &costs)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		a := Plan(d, costs)
		if a.Binds != c.want {
			t.Errorf("%s: %s binds, want %s", name, a.Binds, c.want)
		}
		if c.until > 0 {
			near(t, name+": last order", a.UntilLast, c.until)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Errorf("%s: the answer cannot be written: %v", name, err)
		}
	}
}

func TestPlan_NobodyIsBusierThanPlanned(t *testing.T) {
	t.Parallel()
	for _, d := range []Demand{evenly(), Internet()} {
		a := Plan(d, priced())
		for _, s := range a.Stations {
			if most := float64(s.Count*s.Cores) * d.Utilisation; s.Busy > most*1.001 && s.Name != OfLeader {
				t.Errorf("%s: %.2f of %d cores are busy, planned were %.2f", s.Name, s.Busy, s.Count*s.Cores, most)
			}
		}
	}
}

// A shard too many is cheap, and one too few holds up all units.
func TestPlan_NoFurtherShardWouldHaveUnitsGoSooner(t *testing.T) {
	t.Parallel()
	many := Internet()
	many.Sales, many.Hottest = 1000, 0.001
	cold := evenly()
	cold.Sales, cold.Hottest = 3, 1.0/3
	for _, d := range []Demand{evenly(), Internet(), many, cold} {
		a := Plan(d, priced())
		for _, s := range a.Stations {
			if s.Name == OfShard && s.Seconds == a.Accepting && a.Shards < d.Sales && 1/float64(a.Shards) > d.Hottest+1e-9 {
				t.Errorf("%d sales, the hottest has %.3f: %d shards hold units up for %.2f s", d.Sales, d.Hottest, a.Shards, a.Accepting)
			}
		}
	}
}

func TestHandOver_IsWhatAnAcceptCostsBesideItsScript(t *testing.T) {
	t.Parallel()
	got := priced().HandOver()
	near(t, "gateways", got[Gateways], 20e-6)
	near(t, "redis", got[Redis], 0)
	near(t, "nats", got[NATS], 10e-6)
}

func TestPlan_WhoWaitsLongerPollsMore(t *testing.T) {
	t.Parallel()
	d := evenly()
	d.CoresOfPostgres, d.PollEvery = 1, 1 // 8 s until the last order
	often := Plan(d, priced())
	d.PollEvery = 1000
	if seldom := Plan(d, priced()); seldom.Stations[0].Busy >= often.Stations[0].Busy {
		t.Errorf("gateways are %.3f busy with polls each second, %.3f without", often.Stations[0].Busy, seldom.Stations[0].Busy)
	}
}

func TestPlan_GatewaysBearTheRefusals(t *testing.T) {
	t.Parallel()
	d := Internet()
	d.PollEvery = 1e9
	few, many := Plan(d, priced()), d
	many.Buyers *= 2
	// 2,000,000 attempts a second at 10 µs are 20 cores; 60 % of 8 bear 4.8 of them.
	if few.Gateways < 5 || few.Gateways > 8 {
		t.Errorf("%d gateways", few.Gateways)
	}
	if twice := Plan(many, priced()); twice.Gateways <= few.Gateways+2 {
		t.Errorf("twice the buyers take %d gateways, and %d before", twice.Gateways, few.Gateways)
	}
}

func TestPlan_MoreGatewaysMakeSmallerHandOvers(t *testing.T) {
	t.Parallel()
	d := Internet()
	few := Plan(d, priced())
	d.CoresPerGateway = 1
	many := Plan(d, priced())
	if many.Gateways <= few.Gateways || many.Together >= few.Together {
		t.Errorf("%d gateways hand over %.0f at a time, %d of more cores %.0f", many.Gateways, many.Together, few.Gateways, few.Together)
	}
	near(t, "reservations", many.Messages*many.Together, d.Units)
}

func TestCheck_SaysWhatCannotBe(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(*Demand){
		"buyers":      func(d *Demand) { d.Buyers = 0 },
		"seconds":     func(d *Demand) { d.Seconds = 0 },
		"units":       func(d *Demand) { d.Units = 1e12 },
		"hottest":     func(d *Demand) { d.Hottest = 0.01 },
		"polls":       func(d *Demand) { d.PollEvery = 0 },
		"core":        func(d *Demand) { d.CoresPerGateway = 0 },
		"utilisation": func(d *Demand) { d.Utilisation = 1 },
	} {
		d := Internet()
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		change(&d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v", part, err)
		}
	}
}
