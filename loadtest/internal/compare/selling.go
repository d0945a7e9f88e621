package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	orderPatience = time.Minute // for the last order, once all is answered
	orderLook     = 50 * time.Millisecond
)

// selling is what one system made of the demand in one round.
type selling struct {
	system string // with which its figures begin
	Sale
	sold
	tally    *tally
	began    began
	answered time.Time    // the last
	entered  int64        // attempts that came to where orders are decided
	seen     collect.Seen // of Sluice alone
}

func (s selling) over() int64 { return max(0, s.Orders-int64(s.Total)) }

// saleFigure begins the figures of a system that sells goods.
func saleFigure(system string) string { return "sale_" + system }

// sellRound has every system sell the same to the same demand, one after the other; in
// each round in another order.
func (r *run) sellRound(ctx context.Context, d demand, round int) (err error) {
	f := make(figures)
	defer func() { err = errors.Join(err, r.goOn()) }()
	baselines := ofGoods()
	for _, turn := range turns(len(baselines)+1, round) {
		at := Sale{ID: fmt.Sprintf("sale-%d", round+1), Total: r.Sale.Units, Limit: 1, Goods: true}
		var (
			name = sluiceName
			s    selling
		)
		if turn < len(baselines) {
			name = baselines[turn].Name()
			s, err = r.baselineSells(ctx, baselines[turn], at, d)
		} else {
			s, err = r.sluiceSells(ctx, at, d)
		}
		if err == nil {
			err = r.sells(ctx, s, round, f)
		}
		if err != nil {
			return fmt.Errorf("sale, round %d, %s: %w", round+1, name, err)
		}
	}
	f.compareSales()
	r.rounds = append(r.rounds, f)
	return nil
}

// baselineSells has a baseline sell.
func (r *run) baselineSells(ctx context.Context, b Baseline, at Sale, d demand) (s selling, err error) {
	if err := r.halt(ctx); err != nil {
		return s, err
	}
	shop, drop, err := r.shop(ctx, b, []Sale{r.Sale.warmUp(at), at})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	entered := func() (int64, error) { return enteredAll(ctx, shop.URLs()) }
	s, err = r.measured(ctx, pressed{b.Name(), shop.Schema(), shop.URLs()}, at, d, entered)
	return s, errors.Join(err, r.stop(ctx, shop))
}

// sluiceSells has Sluice sell, and judges it.
func (r *run) sluiceSells(ctx context.Context, at Sale, d demand) (s selling, err error) {
	if err := r.goOn(); err != nil {
		return s, err
	}
	if err := r.open(ctx, at.ID+".yaml", []Sale{r.Sale.warmUp(at), at}); err != nil {
		return s, err
	}
	s, err = r.measured(ctx, pressed{sluiceName, "public", r.gateways()[:saleGateways]}, at, d, func() (int64, error) { return r.reserved(ctx) })
	if err != nil {
		return s, err
	}
	return s, r.goods(ctx, judge{r.db, "public"}, s, r.winners[at.ID].All())
}

// measured has a system sell a smaller sale, which is not measured, and then the sale.
// entered tells how many attempts have come to where orders are decided.
func (r *run) measured(ctx context.Context, p pressed, at Sale, d demand, entered func() (int64, error)) (s selling, err error) {
	warm, err := r.press(ctx, p, r.Sale.warmUp(at), d[:len(d)/warmPart], &record.Latencies{})
	if err != nil {
		return s, err
	}
	// What Postgres counts late of it would be counted as the sale's.
	if _, err := r.Stores.Did(ctx, warm.began.database, warm.Orders, r.Patience); err != nil {
		return s, err
	}
	before, err := entered()
	if err != nil {
		return s, err
	}
	if s, err = r.press(ctx, p, at, d, &r.latencies); err != nil {
		return s, err
	}
	after, err := entered()
	s.entered = after - before
	return s, err
}

// warmPart is which part of a sale, of its units and of its attempts, warms up for it.
const warmPart = 20

func (d SaleDemand) warmUp(at Sale) Sale {
	at.ID, at.Total = at.ID+"-"+warmSuffix, max(1, d.Units/warmPart)
	return at
}

// pressed is a system that is shown a demand.
type pressed struct {
	system, schema string
	urls           []string
}

// reserved is how many attempts have entered the layer that reserves, on all gateways.
func (r *run) reserved(ctx context.Context) (int64, error) {
	layers, err := collect.Funnel(ctx, r.gatewayOps())
	return layers[sale.LayerReserve.String()].Entered, err
}

// press shows a system the demand, and waits for the last order. Sluice is watched.
func (r *run) press(ctx context.Context, on pressed, at Sale, d demand, latencies *record.Latencies) (s selling, err error) {
	if err := r.checkpoint(ctx); err != nil {
		return s, err
	}
	s = selling{system: saleFigure(on.system), Sale: at, tally: newTally(saleFigure(on.system), latencies)}
	if on.system == sluiceName {
		watcher, err := r.watch(ctx, at.ID)
		if err != nil {
			return s, err
		}
		r.winners[at.ID], r.order = s.tally.winnersOf(at.ID), append(r.order, at.ID)
		defer func() { s.seen = watcher.Stop(ctx, int64(len(d))) }()
	}
	if s.began, err = r.begin(ctx); err != nil {
		return s, err
	}
	p := pressing{demand: d, sale: at, buyers: r.tokens, tally: s.tally}
	if s.began.at, err = p.press(ctx, r.Sale.Connections, on.urls); err != nil {
		return s, err
	}
	s.answered = time.Now()
	err = r.awaitOrders(ctx, judge{r.db, on.schema}, &s)
	return s, err
}

// checkpoint has written to the tables' files what the one before has left.
func (r *run) checkpoint(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	if _, err := r.db.Exec(ctx, `CHECKPOINT`); err != nil {
		return fmt.Errorf("cannot begin on a quiet database: %w", err)
	}
	return nil
}

// awaitOrders waits for the last order of what was promised.
func (r *run) awaitOrders(ctx context.Context, j judge, s *selling) error {
	promised := int64(s.tally.outcomes[sale.Accepted.String()] + s.tally.outcomes[sale.Confirmed.String()])
	for {
		made, err := j.ordered(ctx, s.Sale)
		if err != nil {
			return err
		}
		if made >= promised || time.Since(s.answered) > orderPatience {
			break
		}
		if !wait.For(ctx, orderLook) {
			return ctx.Err()
		}
	}
	var err error
	s.sold, err = j.sold(ctx, s.Sale)
	return err
}

// sells keeps what a system made of the demand.
func (r *run) sells(ctx context.Context, s selling, round int, f figures) error {
	did, err := r.Stores.Did(ctx, s.began.database, s.Orders, r.Patience)
	if err != nil {
		return err
	}
	f.sold(s, did)
	if s.system == saleFigure(sluiceName) {
		r.shown = append(r.shown, shown{PartSale, round, s.seen, did.Rows})
	}
	name := s.system
	r.say("round %-2d  %-22s  last order row after %.2f s, %d orders of %d units, %d doubles; %.0f attempts came to its order layer, %.0f attempts/s, p95 of winners %.0f ms, of refused %.0f ms; %.0f rows in %.0f transactions; answers %v",
		round+1, name, f[name+"_last_order_s"], s.Orders, s.Total, s.Doubles, f[name+"_order_layer"], f[name+"_attempts_per_s"], f[name+"_winner_p95_ms"], f[name+"_refused_p95_ms"],
		f[name+"_db_rows"], f[name+"_db_transactions"], s.tally.outcomes)
	if s.tally.unanswered > 0 {
		r.unwell(s, "sale, round %d, %s: %d attempts had no answer or a 503, the first fault: %v", round+1, name, s.tally.unanswered, s.tally.fault)
	}
	if s.Orders < int64(s.Total) {
		r.unwell(s, "sale, round %d, %s: %d orders of %d units", round+1, name, s.Orders, s.Total)
	}
	return nil
}

// unwell fails the verdict for Sluice, and is said of a baseline.
func (r *run) unwell(s selling, format string, args ...any) {
	if s.system == saleFigure(sluiceName) {
		r.rep.Fail("scenario", format, args...)
		return
	}
	r.trouble = append(r.trouble, fmt.Sprintf(format, args...)+".")
}

// sold takes the figures of one system.
func (f figures) sold(s selling, did collect.Activity) {
	since := func(t time.Time) float64 { return max(0.001, t.Sub(s.began.at).Seconds()) }
	whole := math.Max(since(s.answered), since(s.Last))
	for figure, value := range map[string]float64{
		"order_layer": float64(s.entered), "orders": float64(s.Orders), "over": float64(s.over()), "doubles": float64(s.Doubles),
		"first_order_s": since(s.First), "last_order_s": since(s.Last), "whole_s": whole,
		"attempts_per_s": float64(s.tally.requests) / since(s.answered),
		"db_rows":        float64(did.Rows), "db_rows_per_s": float64(did.Rows) / whole,
		"db_transactions": float64(did.Transactions), "db_transactions_per_s": float64(did.Transactions) / whole,
	} {
		f[s.system+"_"+figure] = value
	}
	if !s.Units.IsZero() {
		f[s.system+"_until_units_s"] = since(s.Units)
	}
	answers := s.tally.round.Summaries()
	f[s.system+"_winner_p95_ms"] = answers[newCoupon].P95
	if refused := answers[sale.SoldOut.String()]; refused.Count > 0 {
		f[s.system+"_refused_p95_ms"] = refused.P95
	}
	if s.system == saleFigure(sluiceName) {
		f[layer4PerUnit] = float64(s.entered) / float64(s.Total)
	}
}
