// Package mix is who attempts what in an attack: a declaration, and from it, by the
// number of an attempt alone, its kind, sale, buyer and key.
//
//	number ─► kind   sold_out · buyers · repeats · keyed_repeats · early
//	          sale   one of those whose role suits the kind
//	          buyer  no two of the first Users attempts have the same, but repeats
//	          key    of every other first attempt, and of what repeats it
//
// Nobody is held: a million buyers cost what one does. The same declaration is the
// same crowd, whatever process asks. The package does no I/O but reading the file.
package mix

import (
	"fmt"
)

// Role of a sale in a mix.
type Role string

// Roles.
const (
	Hot     Role = "hot"      // most buyers want it
	Open    Role = "open"     // open, with stock
	SoldOut Role = "sold_out" // few units, gone at once: the attempts after that are refused
	Early   Role = "early"    // not open yet
)

// Sale is a sale of the mix, or Count of them.
type Sale struct {
	ID           string `json:"id"`
	Role         Role   `json:"role"`
	Count        int64  `json:"count"` // more than one are ID-1, ID-2, …
	Units        int64  `json:"units"` // of each
	PerUserLimit int64  `json:"per_user_limit"`
}

// Parts are shares of the attempts, by weight.
type Parts struct {
	SoldOut      int64 `json:"sold_out"`      // on sales of that role
	Buyers       int64 `json:"buyers"`        // first attempts in hot and open sales
	Repeats      int64 `json:"repeats"`       // the same buyer in the same sale again, without a key
	KeyedRepeats int64 `json:"keyed_repeats"` // the same with the first attempt's idempotency key
	Early        int64 `json:"early"`         // on sales of that role
}

// Mix declares a crowd.
type Mix struct {
	Users          int64  `json:"users"` // buyers there are
	Seed           int64  `json:"seed"`
	Attempts       Parts  `json:"attempts"`
	HotPercent     int64  `json:"hot_percent"`     // of first attempts, in hot sales
	RepeatWithin   int64  `json:"repeat_within"`   // attempts between a first one and its repeat, about, at most
	FollowPercent  int64  `json:"follow_percent"`  // winners whose ticket the reference client follows
	PollingPercent int64  `json:"polling_percent"` // of those, who poll; the others have their reads held until there is news
	Sales          []Sale `json:"sales"`
}

// Usual is the mix when nobody declares another.
func Usual() Mix {
	return Mix{
		Users: 1_000_000, Seed: 1,
		Attempts:   Parts{SoldOut: 70, Buyers: 20, Repeats: 4, KeyedRepeats: 4, Early: 2},
		HotPercent: 50, RepeatWithin: 500, FollowPercent: 20, PollingPercent: 50,
		Sales: []Sale{
			{ID: "mix-hot", Role: Hot, Count: 1, Units: 10_000, PerUserLimit: 1},
			{ID: "mix-open", Role: Open, Count: 20, Units: 2000, PerUserLimit: 1},
			{ID: "mix-gone", Role: SoldOut, Count: 5, Units: 10, PerUserLimit: 1},
			{ID: "mix-early", Role: Early, Count: 1, Units: 1000, PerUserLimit: 1},
		},
	}
}

// Small is a mix whose sales sell out within an attack of a thousand attempts.
func Small() Mix {
	m := Usual()
	m.Users, m.RepeatWithin, m.FollowPercent = 5000, 50, 50
	m.Sales = []Sale{
		{ID: "mix-hot", Role: Hot, Count: 1, Units: 50, PerUserLimit: 1},
		{ID: "mix-open", Role: Open, Count: 3, Units: 100, PerUserLimit: 2},
		{ID: "mix-gone", Role: SoldOut, Count: 2, Units: 5, PerUserLimit: 1},
		{ID: "mix-early", Role: Early, Count: 1, Units: 10, PerUserLimit: 1},
	}
	return m
}

// Expanded are the sales one by one.
func (m Mix) Expanded() []Sale {
	var all []Sale
	for _, s := range m.Sales {
		for n := range s.Count {
			one := s
			if one.Count = 1; s.Count > 1 {
				one.ID = fmt.Sprintf("%s-%d", s.ID, n+1)
			}
			all = append(all, one)
		}
	}
	return all
}

// Listed is the mix for a report, with its sales by id.
func (m Mix) Listed() map[string]any {
	sales := make(map[string]any, len(m.Sales))
	for _, s := range m.Sales {
		sales[s.ID] = map[string]any{"role": s.Role, "count": s.Count, "units": s.Units, "per_user_limit": s.PerUserLimit}
	}
	return map[string]any{
		"users": m.Users, "seed": m.Seed, "attempts": m.Attempts, "hot_percent": m.HotPercent, "repeat_within": m.RepeatWithin,
		"follow_percent": m.FollowPercent, "polling_percent": m.PollingPercent, "sales": sales,
	}
}
