package console

import (
	"encoding/json"
	"time"
)

// frame is what a page is told: all when it connects, then what has changed. Times are
// unix milliseconds, so that a page reckons ages by the worker's clock; null is not known.
type frame struct {
	Seq     int64             `json:"seq"`
	Now     int64             `json:"now"`
	Full    bool              `json:"full"`
	Promise float64           `json:"promise_seconds"` // 0 for none
	SalesAt *int64            `json:"sales_at"`        // when the list of sales was last read; null for never
	Sales   []json.RawMessage `json:"sales"`           // changed ones, unless full
	Gone    []string          `json:"gone"`
	Totals  totals            `json:"totals"`
	Pace    *paceBody         `json:"pace"`   // null where it is not watched
	Alerts  *[]alertBody      `json:"alerts"` // likewise
	History *columns          `json:"history,omitempty"`
}

// totals are of all sales.
type totals struct {
	Waiting   *int64   `json:"waiting"`
	Oldest    *int64   `json:"oldest"` // since when the oldest waits; null when nothing does
	AgeKnown  bool     `json:"age_known"`
	Accepting *float64 `json:"accepting"`
	Settling  *float64 `json:"settling"`
}

// saleBody is a sale on the page. It must not hold what changes with time alone.
type saleBody struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Kind       string     `json:"kind"`
	State      string     `json:"state"`
	Weight     int        `json:"weight"`
	OpensAt    int64      `json:"opens_at"`
	ClosesAt   int64      `json:"closes_at"`
	Epoch      int64      `json:"epoch"`
	Total      int64      `json:"total"` // in Postgres, as is held
	Held       int64      `json:"held"`
	Paused     bool       `json:"paused"`
	Rebuilding bool       `json:"rebuilding"`
	Unapplied  int64      `json:"releases_unapplied"`
	Adjusting  int64      `json:"adjustments_unfinished"`
	RedisState string     `json:"redis_state"`
	RedisSince *int64     `json:"redis_since"` // of what Redis last said, if that is not now
	Redis      *redisBody `json:"redis"`       // null until something was read
	Waiting    *int64     `json:"waiting"`
	Oldest     *int64     `json:"oldest"`
	AgeKnown   bool       `json:"age_known"`
	Accepting  *float64   `json:"accepting"`
	Draining   *float64   `json:"draining"`
}

type redisBody struct {
	SoldOut  bool  `json:"sold_out"`
	Total    int64 `json:"total"`
	Stock    int64 `json:"stock"`
	Rank     int64 `json:"rank"` // reservations made so far
	Served   int64 `json:"served"`
	Unpaid   int64 `json:"unpaid"`
	Given    int64 `json:"given"`
	HandOff  int64 `json:"handoff"`
	Version  int64 `json:"version"`
	Accepted int64 `json:"accepted"`
}

type paceBody struct {
	Paused       bool    `json:"paused"`
	Orders       float64 `json:"orders_per_second"`
	P90          float64 `json:"p90_ms"`
	Target       float64 `json:"target_ms"`
	LimitedBy    string  `json:"limited_by"`
	Consumers    int     `json:"consumers"`
	ConsumersMax int     `json:"consumers_max"`
	InFlight     int     `json:"in_flight"`
	Wanted       int     `json:"workers_wanted"`
}

type alertBody struct {
	Alert      string `json:"alert"`
	State      string `json:"state"`
	Severity   string `json:"severity"`
	Sale       string `json:"sale"`
	Dependency string `json:"dependency"`
	Summary    string `json:"summary"`
	Since      int64  `json:"since"`
	ResolvedAt *int64 `json:"resolved_at"`
}

func bodyOfPace(p Pace) *paceBody {
	return &paceBody{
		Paused: p.Paused, Orders: p.Orders, P90: millis(p.P90), Target: millis(p.Target), LimitedBy: p.LimitedBy,
		Consumers: p.Consumers, ConsumersMax: p.ConsumersMax, InFlight: p.InFlight, Wanted: p.WorkersWanted,
	}
}

func bodyOfAlert(a Alert) alertBody {
	return alertBody{
		Alert: a.Name, State: a.State, Severity: a.Severity, Sale: a.Sale, Dependency: a.Dependency, Summary: a.Summary,
		Since: a.Since.UnixMilli(), ResolvedAt: moment(a.ResolvedAt),
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// moment is null for the zero time.
func moment(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// encode never fails: every type here can be encoded, and no number is infinite.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
