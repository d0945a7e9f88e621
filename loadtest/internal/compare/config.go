package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config is how large a comparison is.
type Config struct {
	Only     string        `json:"only"` // one of Parts, or "" for all
	Rounds   int           `json:"rounds"`
	Claimers int           `json:"claimers"` // who come at once
	Clicks   int           `json:"clicks"`   // of each, at each template
	Sizes    []Size        `json:"templates"`
	Claims   Claims        `json:"claims"`
	Sale     SaleDemand    `json:"sale"`
	Patience time.Duration `json:"patience_ns"` // for Postgres to count what it wrote
}

// Size of a template that each round gives out.
type Size struct {
	Total int `json:"total"`
	Limit int `json:"limit"` // coupons a claimer may have
}

// Claims is how large the open loop on Sluice alone is.
type Claims struct {
	Rounds    int           `json:"rounds"`
	Rates     []int         `json:"rates"`    // claims a second
	Stage     time.Duration `json:"stage_ns"` // of one rate, after Warm
	Warm      time.Duration `json:"warm_ns"`  // at first, not in the latencies
	Users     int           `json:"users"`
	Templates int           `json:"templates"`
	HotShare  float64       `json:"hot_share"` // of the claims, at one template
}

// SaleDemand is how large a sale of goods is, and the demand that meets it.
type SaleDemand struct {
	Rounds      int `json:"rounds"`
	Units       int `json:"units"`
	Buyers      int `json:"buyers"`
	Each        int `json:"attempts_a_buyer"`
	Connections int `json:"connections"` // closed loop
}

func (d SaleDemand) attempts() int { return d.Buyers * d.Each }

// Parts of a comparison.
const (
	PartSale     = "sale"
	PartIncident = "incident"
	PartClaims   = "claims"
)

// Parts are what can be run alone.
func Parts() []string { return []string{PartSale, PartIncident, PartClaims} }

// Full is the configuration whose figures mean something.
func Full(rounds int) Config {
	return Config{
		Rounds: rounds, Claimers: 3000, Clicks: 5, Sizes: []Size{{1000, 1}, {5000, 2}}, Patience: 12 * time.Second,
		Claims: Claims{Rounds: min(rounds, 3), Rates: []int{1000, 2000, 3000}, Stage: 10 * time.Second, Warm: 2 * time.Second,
			Users: 100_000, Templates: 50, HotShare: 0.8},
		Sale: SaleDemand{Rounds: min(rounds, 3), Units: 10_000, Buyers: 100_000, Each: 2, Connections: 512},
	}
}

// Quick is a configuration that only shows that the judge sees what there is.
func Quick() Config {
	return Config{
		Rounds: 1, Claimers: 120, Clicks: 5, Sizes: []Size{{60, 1}, {150, 2}}, Patience: time.Second,
		Claims: Claims{Rounds: 1, Rates: []int{100, 200}, Stage: 500 * time.Millisecond, Warm: 100 * time.Millisecond, Users: 500, Templates: 5, HotShare: 0.8},
		Sale:   SaleDemand{Rounds: 1, Units: 60, Buyers: 500, Each: 2, Connections: 32},
	}
}

func (c Config) has(part string) bool { return c.Only == "" || c.Only == part }

// templates of a round, apart from those of every other.
func (c Config) templates(round int) []Sale {
	all := make([]Sale, len(c.Sizes))
	for i, s := range c.Sizes {
		all[i] = Sale{ID: fmt.Sprintf("round-%d-of-%d", round+1, s.Total), Total: s.Total, Limit: s.Limit}
	}
	return all
}

// scale says in words what a round is.
func (c Config) scale() string {
	totals := make([]string, len(c.Sizes))
	for i, s := range c.Sizes {
		totals[i] = fmt.Sprint(s.Total)
		if s.Limit > 1 {
			totals[i] += fmt.Sprintf(" (%d a claimer)", s.Limit)
		}
	}
	return fmt.Sprintf("%s of %d concurrent claimers, %d clicks each at each template, of %s coupons", rounds(c.Rounds), c.Claimers, c.Clicks, strings.Join(totals, " and "))
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// Gateways are as many as the parts need: the incident has as many instances.
func (c Config) Gateways() int {
	if c.Only == PartSale {
		return saleGateways
	}
	return incidentInstances
}

// hot is what a stage gives out by its one hot template: half of what is claimed there,
// so that it is in stock for one half of the stage, and sold out for the other.
func (c Claims) hot(rate int) int {
	return max(1, int(float64(rate)*(c.Stage+c.Warm).Seconds()*c.HotShare/2))
}

// hotOf is the hot template of one stage.
func (c Claims) hotOf(round, rate int) Sale {
	return Sale{ID: fmt.Sprintf("claims-%d-%d", rate, round+1), Total: c.hot(rate), Limit: 1}
}

// cold are the templates that every stage has beside its hot one. They do not sell out.
func (c Claims) cold() []Sale {
	all := make([]Sale, c.Templates-1)
	for i := range all {
		all[i] = Sale{ID: fmt.Sprintf("cold-%d", i+1), Total: c.Users, Limit: 1}
	}
	return all
}

// mostUsers is how many claimers need a token.
func (c Config) mostUsers() int {
	users := 0
	if c.has(PartIncident) {
		users = c.Claimers
	}
	if c.has(PartClaims) {
		users = max(users, c.Claims.Users)
	}
	if c.has(PartSale) {
		users = max(users, c.Sale.Buyers)
	}
	return users
}

// Known reports whether a part can be run alone.
func Known(part string) bool { return slices.Contains(Parts(), part) }
