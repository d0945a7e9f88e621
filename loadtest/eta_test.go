package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// slowed is a scene whose Postgres takes a given time for every order.
type slowed struct {
	*scene
	db *pgx.Conn
}

// slow makes Postgres write at most perSecond orders: every statement that inserts some
// takes as long as its rows are worth.
func slow(ctx context.Context, s *scene, perSecond float64) *slowed {
	s.t.Helper()
	db, err := pgx.Connect(ctx, s.stack.Info().Postgres.URL)
	s.must(err)
	s.t.Cleanup(func() { _ = db.Close(context.WithoutCancel(ctx)) })
	_, err = db.Exec(ctx, `
		CREATE TABLE slowness (seconds double precision NOT NULL);
		INSERT INTO slowness VALUES (0);
		CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_sleep((SELECT count(*) FROM fresh) * (SELECT seconds FROM slowness));
			RETURN NULL;
		END $$;
		CREATE TRIGGER slowly AFTER INSERT ON orders REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION be_slow()`)
	s.must(err)
	d := &slowed{s, db}
	d.pace(ctx, perSecond)
	return d
}

func (d *slowed) pace(ctx context.Context, perSecond float64) {
	d.t.Helper()
	_, err := d.db.Exec(ctx, `UPDATE slowness SET seconds = $1`, 1/perSecond)
	d.must(err)
}

// change sets each pace once that many are served.
func (d *slowed) change(ctx context.Context, paces map[int64]float64) {
	d.t.Helper()
	asker := d.buyer(0, true, &requests{})
	for len(paces) > 0 {
		described, err := asker.Sale(ctx, d.saleID)
		d.must(err)
		for served, pace := range paces {
			if described.Progress.Served >= served {
				d.pace(ctx, pace)
				delete(paces, served)
			}
		}
		select {
		case <-ctx.Done():
			d.t.Fatalf("%d served", described.Progress.Served)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// said is what a buyer was told at one moment.
type said struct {
	at  time.Time // by the sale's clock
	eta *client.ETA
}

// foretold is what the followers of many tickets were told, against what came.
type foretold struct {
	mu                          sync.Mutex
	told, within, sooner, later int
	null                        int
	pairs, jumps                int     // of tellings in a row, and of those whose middle rose by a fifth
	width                       float64 // sum of widths over true waits, of those over 5 s
	wide                        int
}

func (f *foretold) String() string {
	return fmt.Sprintf("%d told, %.1f %% right (%d came sooner, %d later), %d not told, %.1f %% of %d jumped, width %.1f of a wait over 5 s",
		f.told, 100*float64(f.within)/float64(max(1, f.told)), f.sooner, f.later, f.null, 100*float64(f.jumps)/float64(max(1, f.pairs)), f.pairs,
		f.width/float64(max(1, f.wide)))
}

// judge compares what a ticket's buyer was told with when its order was there.
func (f *foretold) judge(all []said, decided time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := 0.0
	for _, s := range all {
		if s.eta == nil {
			f.null++
			before = 0
			continue
		}
		wait := decided.Sub(s.at).Seconds()
		f.told++
		switch {
		case wait < s.eta.Low:
			f.sooner++
		case wait > s.eta.High:
			f.later++
		default:
			f.within++
		}
		if wait > 5 {
			f.wide++
			f.width += (s.eta.High - s.eta.Low) / wait
		}
		middle := (s.eta.Low + s.eta.High) / 2
		if before > 0 {
			f.pairs++
			if middle > 1.2*before {
				f.jumps++
			}
		}
		before = middle
	}
}

// follow buys as one buyer and hears what it is told until it has an order.
func (d *slowed) follow(ctx context.Context, buyer int, polling bool, f *foretold) error {
	c := d.buyer(buyer, polling, &requests{})
	ticket, err := c.Buy(ctx, d.saleID, "")
	if err != nil {
		return err
	}
	var all []said
	hear := func(t client.Ticket) {
		if t.Status == sale.StatusQueued && (len(all) == 0 || t.ServerTime.After(all[len(all)-1].at)) { // a 304 tells nothing
			all = append(all, said{t.ServerTime, t.ETA})
		}
	}
	hear(ticket)
	last, err := c.Follow(ctx, ticket, func(t client.Ticket, _ time.Duration) { hear(t) })
	if err != nil {
		return err
	}
	if last.Status != sale.StatusConfirmed {
		return fmt.Errorf("ticket %+v", last)
	}
	f.judge(all, last.UpdatedAt)
	return nil
}

// crowd has every buyer buy, as fast as some of them can; every n-th follows its ticket,
// half of them by polling.
func (d *slowed) crowd(ctx context.Context, n int, f *foretold) {
	d.t.Helper()
	via := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer via.CloseIdleConnections()
	var winners record.Winners
	var all sync.WaitGroup
	defer all.Wait()
	turns := make(chan struct{}, 64)
	for buyer := range d.tokens {
		if buyer%n == 0 {
			all.Go(func() {
				if err := d.follow(ctx, buyer, buyer/n%2 == 0, f); err != nil {
					d.t.Errorf("buyer %d: %v", buyer, err)
				}
			})
			continue
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if err := d.buy(via, d.gateway(buyer), buyer, &winners); err != nil {
				d.t.Errorf("buyer %d: %v", buyer, err)
			}
		})
	}
}

// Buyers of all ranks are told when their turn comes while the pace at which Postgres
// takes orders changes twice, and are mostly told right.
func TestETA_HoldsWhileThePaceOfADrainChangesTwice(t *testing.T) {
	t.Parallel()
	units, follow, slack := int64(3000), 15, 3
	cases := map[string][3]float64{"halved": {500, 250, 500}}
	if devstack.Long() {
		units, follow, slack = 20_000, 50, 1
		cases = map[string][3]float64{"halved": {1000, 500, 1000}, "doubled": {500, 1000, 500}, "quartered": {1000, 250, 1000}}
	}
	for name, paces := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			// One transaction at a time, whatever it takes: Postgres alone sets the pace.
			env := map[string][]string{"worker-0": {"SLUICE_CONSUMERS=1", "SLUICE_PACE_TARGET=1m"}}
			s := openScene(ctx, t, int(units), int(units), stack.Config{Gateways: 2, Workers: 1, FirstEnv: env})
			d := slow(ctx, s, paces[0])
			var f foretold
			var buying sync.WaitGroup
			buying.Go(func() { d.crowd(ctx, follow, &f) })
			d.change(ctx, map[int64]float64{units / 3: paces[1], 2 * units / 3: paces[2]})
			buying.Wait()
			t.Log(&f)
			if (f.told-f.within)*100 > 10*slack*f.told || f.jumps*100 >= 5*slack*f.pairs || f.null*100 > 10*slack*f.told {
				t.Error(&f)
			}
			s.rest(ctx, nil, healPatience)
		})
	}
}
