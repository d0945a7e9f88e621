package capacity

import (
	"fmt"
	"math"
)

// MaxTogether is as many attempts as a reserve call carries at most.
const MaxTogether = 256

// Demand is a sale, or several at once, and the machines that it may have.
type Demand struct {
	Buyers           float64 `json:"buyers"`
	Seconds          float64 `json:"seconds"` // in which they come, evenly
	AttemptsPerBuyer float64 `json:"attempts_per_buyer"`
	Units            float64 `json:"units"` // of all sales together
	Sales            int     `json:"sales"`
	Hottest          float64 `json:"hottest"`      // part of attempts and units that is the hottest sale's
	News             float64 `json:"news_seconds"` // for which gateways let attempts through to a sale that has just sold out
	PollEvery        float64 `json:"poll_every_seconds"`

	CoresPerGateway int     `json:"cores_per_gateway"`
	CoresPerWorker  int     `json:"cores_per_worker"`
	CoresOfPostgres int     `json:"cores_of_postgres"` // there is one that writes
	Replicas        int     `json:"nats_replicas"`     // servers of NATS; one leads the stream
	Message         float64 `json:"message_seconds"`   // of a hand-over, with its sync and its replicas'; 0 is as measured
	Utilisation     float64 `json:"utilisation"`       // part of the time that anything may be busy
}

// Internet is the worked example: 10 million buyers in 10 seconds, 100,000 units, 30 sales.
func Internet() Demand {
	return Demand{Buyers: 10_000_000, Seconds: 10, AttemptsPerBuyer: 2, Units: 100_000, Sales: 30, Hottest: 0.2, News: 0.05, PollEvery: 2,
		CoresPerGateway: 8, CoresPerWorker: 4, CoresOfPostgres: 16, Replicas: 3, Utilisation: 0.6}
}

// Check refuses what nobody can answer.
func (d Demand) Check() error {
	for _, v := range []float64{d.Buyers, d.Seconds, d.AttemptsPerBuyer, d.Units, d.Hottest, d.News, d.PollEvery, d.Message, d.Utilisation} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("cannot plan: %v is not a number of anything", v)
		}
	}
	for _, c := range []struct {
		holds bool
		text  string
	}{
		{d.Buyers >= 1 && d.AttemptsPerBuyer > 0, "buyers and attempts for each must be above 0"},
		{d.Seconds > 0, "the seconds in which buyers come must be above 0"},
		{d.Units >= 1 && d.Units <= d.Buyers*d.AttemptsPerBuyer, "units must be at least 1, and no more than there are attempts"},
		{d.Sales >= 1 && d.Hottest >= 1/float64(d.Sales)-1e-9 && d.Hottest <= 1, "the hottest sale's part must be at most 1, and at least an even share of the sales"},
		{d.News >= 0 && d.PollEvery > 0 && d.Message >= 0, "times must not be negative, and between polls of a ticket there must be some"},
		{d.CoresPerGateway >= 1 && d.CoresPerWorker >= 1 && d.CoresOfPostgres >= 1 && d.Replicas >= 1, "every process has a core, and there is a server"},
		{d.Utilisation > 0 && d.Utilisation < 1, "utilisation must be above 0 and below 1: at 1 waits have no end"},
	} {
		if !c.holds {
			return fmt.Errorf("cannot plan: %s", c.text)
		}
	}
	return nil
}

// attempts a second.
func (d Demand) perSecond() float64 { return d.Buyers * d.AttemptsPerBuyer / d.Seconds }

// scripts are the attempts that reach the reserve script: those that get a unit, and those that
// are let through until the news of the last unit is there.
func (d Demand) scripts() float64 {
	return min(d.Buyers*d.AttemptsPerBuyer, d.Units+d.perSecond()*d.News)
}
