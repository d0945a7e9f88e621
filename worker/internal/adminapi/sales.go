package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/sale"
)

// readingAtOnce bounds how many sales are read from Redis at a time.
const readingAtOnce = 8

// sales are the sales as Postgres has them. Changes are recorded with who made them.
type sales interface {
	// Standings returns how every sale stands, or one; no rows if there is none.
	Standings(ctx context.Context, saleID string) ([]sale.Standing, error)
	SetPaused(ctx context.Context, by sale.Actor, saleID string, paused bool) (sale.Entry, error)
	CloseSale(ctx context.Context, by sale.Actor, saleID string) (sale.Entry, error)
	RebuildSale(ctx context.Context, by sale.Actor, saleID string) (sale.Entry, error)
}

// snapshots read a sale's state in Redis; sale.ErrStale when that epoch is not live.
type snapshots interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
}

// What Redis has of a sale, in one word.
const (
	redisLive        = "live"
	redisStale       = "stale" // not at the epoch that Postgres has
	redisUnreachable = "unreachable"
)

// saleBody is a sale as an operator sees it.
type saleBody struct {
	ID           string            `json:"id"`
	State        string            `json:"state"`
	Kind         sale.Kind         `json:"kind"`
	Title        string            `json:"title"`
	Titles       map[string]string `json:"titles,omitempty"` // by other languages
	SKU          string            `json:"sku"`
	Template     string            `json:"template,omitempty"` // of coupons
	Price        int64             `json:"price"`              // minor units of currency
	Currency     string            `json:"currency"`
	PerUserLimit int               `json:"per_user_limit"`
	Mode         sale.Mode         `json:"mode"`
	Hold         float64           `json:"hold_seconds"`
	Rebuy        bool              `json:"rebuy_after_release"`
	Weight       int               `json:"weight"`
	Eligibility  eligibilityBody   `json:"eligibility"`
	OpensAt      time.Time         `json:"opens_at"`
	ClosesAt     time.Time         `json:"closes_at"`
	Epoch        int64             `json:"epoch"`
	Rev          int64             `json:"rev"`
	Paused       bool              `json:"paused"`
	Rebuilding   bool              `json:"rebuilding"`
	WaitsFor     *string           `json:"rebuild_waits_for"` // null unless an operator keeps the rebuild from its end
	Retired      bool              `json:"retired"`
	Postgres     postgresBody      `json:"postgres"`
	RedisState   string            `json:"redis_state"`
	Redis        *redisBody        `json:"redis"` // null unless live
}

type eligibilityBody struct {
	MinAccountAge float64  `json:"min_account_age_seconds"`
	MinPaidOrders int64    `json:"min_paid_orders"`
	Tags          []string `json:"tags"`
	AllowList     bool     `json:"allow_list"`
}

// postgresBody counts units; configured is what the sales file says, total what counts.
type postgresBody struct {
	Configured int64 `json:"configured"`
	Total      int64 `json:"total"`
	Held       int64 `json:"held"`
	Free       int64 `json:"free"`
	Unapplied  int64 `json:"releases_unapplied"`
	Adjusting  int64 `json:"adjustments_unfinished"`
}

type redisBody struct {
	Version  int64      `json:"version"`
	SoldOut  bool       `json:"sold_out"`
	Paused   bool       `json:"paused"`
	Total    int64      `json:"total"`
	Stock    int64      `json:"stock"`
	Rank     int64      `json:"rank"`
	Accepted int64      `json:"accepted"`
	Served   int64      `json:"served"`
	Unpaid   int64      `json:"unpaid"`
	Given    int64      `json:"given"`
	HandOff  int64      `json:"handoff"`
	Oldest   *time.Time `json:"handoff_oldest"` // null when handoff is empty
}

func (a *API) listSales(ctx context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	standings, err := c.Sales.Standings(ctx, "")
	if err != nil {
		a.fail(c, err)
		return
	}
	list := struct {
		Sales []saleBody `json:"sales"`
	}{make([]saleBody, len(standings))}
	read, cancel := context.WithTimeout(ctx, redisWithin)
	defer cancel()
	waitsFor, err := c.rebuildWaitsFor(ctx, standings...)
	if err != nil {
		a.fail(c, err)
		return
	}
	var reading errgroup.Group
	reading.SetLimit(readingAtOnce)
	for i, st := range standings {
		reading.Go(func() error {
			list.Sales[i] = c.describe(read, st, waitsFor)
			return nil
		})
	}
	_ = reading.Wait() // a sale that Redis says nothing of is listed without
	c.answer(http.StatusOK, list)
}

func (a *API) oneSale(ctx context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	a.answerSale(ctx, c, http.StatusOK)
}

// answerSale answers with the sale as it stands now.
func (a *API) answerSale(ctx context.Context, c call, status int) {
	st, err := c.standing(ctx)
	if err != nil {
		a.fail(c, err)
		return
	}
	waitsFor, err := c.rebuildWaitsFor(ctx, st)
	if err != nil {
		a.fail(c, err)
		return
	}
	read, cancel := context.WithTimeout(ctx, redisWithin)
	defer cancel()
	c.answer(status, c.describe(read, st, waitsFor))
}

func (c call) standing(ctx context.Context) (sale.Standing, error) {
	standings, err := c.Sales.Standings(ctx, c.sale)
	if err == nil && len(standings) == 0 {
		err = ErrNoSale
	}
	if err != nil {
		return sale.Standing{}, err
	}
	return standings[0], nil
}

// rebuildWaitsFor says what keeps rebuilds from their end until an operator decides: they
// wait for orders, which no worker makes while the pace is paused. Null for nothing, and
// when none of the sales is being rebuilt.
func (c call) rebuildWaitsFor(ctx context.Context, standings ...sale.Standing) (*string, error) {
	if !slices.ContainsFunc(standings, func(st sale.Standing) bool { return st.Rebuilding }) {
		return nil, nil
	}
	pause, err := c.Pace.PacePause(ctx)
	if err != nil || !pause.Paused {
		return nil, err
	}
	why := pause.String()
	return &why, nil
}

// describe reads a sale's state in Redis, if it has one; waitsFor is what rebuilds wait for.
func (c call) describe(ctx context.Context, st sale.Standing, waitsFor *string) saleBody {
	body := bodyOf(st)
	if st.Rebuilding {
		body.WaitsFor = waitsFor
	}
	if st.Epoch == 0 || st.Retired {
		body.RedisState = redisStale
		return body
	}
	snap, handOff, err := c.Redis.Snapshot(ctx, st.ID, st.Epoch)
	switch {
	case errors.Is(err, sale.ErrStale):
		body.RedisState = redisStale
	case err != nil:
		body.RedisState = redisUnreachable
	default:
		body.RedisState = redisLive
		body.Redis = redisBodyOf(snap, handOff)
	}
	body.State = st.Describe(snap, time.Now())
	return body
}

func bodyOf(st sale.Standing) saleBody {
	tags := append([]string{}, st.Eligibility.Tags...)
	return saleBody{
		ID: st.ID, State: st.Describe(sale.Snapshot{}, time.Now()), Kind: st.Kind, Title: st.Title, Titles: st.Titles, SKU: st.SKU, Template: st.Template, Price: st.PriceMinor, Currency: st.Currency,
		PerUserLimit: st.PerUserLimit, Mode: st.Mode, Hold: st.Hold.Seconds(), Rebuy: st.RebuyAfterRelease, Weight: st.Weight,
		Eligibility: eligibilityBody{
			MinAccountAge: st.Eligibility.MinAccountAge.Seconds(), MinPaidOrders: st.Eligibility.MinPaidOrders,
			Tags: tags, AllowList: st.Eligibility.HasAllowList,
		},
		OpensAt: st.OpensAt, ClosesAt: st.ClosesAt, Epoch: st.Epoch, Rev: st.Rev,
		Paused: st.Paused, Rebuilding: st.Rebuilding, Retired: st.Retired,
		Postgres: postgresBody{
			Configured: st.Sale.Total, Total: st.Total, Held: st.Held, Free: st.Total - st.Held, Unapplied: st.Unapplied, Adjusting: st.Adjusting,
		},
	}
}

func redisBodyOf(s sale.Snapshot, h sale.HandOff) *redisBody {
	body := &redisBody{
		Version: s.Version, SoldOut: s.SoldOut, Paused: s.Paused, Total: s.Total, Stock: s.Stock, Rank: s.Rank,
		Accepted: s.Accepted, Served: s.Served, Unpaid: s.Unpaid, Given: s.Given, HandOff: h.Count,
	}
	if !h.Oldest.IsZero() {
		body.Oldest = &h.Oldest
	}
	return body
}
