package fulfil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
)

const (
	manySales  = 150
	fewConns   = 4
	busyAnswer = 10 * time.Millisecond
)

var errPool = errors.New("connection pool timeout")

// crowded is a Redis with few connections that answers slowly, of many sales whose
// tickets wait and must all be read. Who comes when all connections are taken fails.
type crowded struct {
	script
	use           sync.Mutex
	under         int
	scans         int
	swept, looked map[string]int
	scanned       map[string]int
}

func (c *crowded) call(of map[string]int, saleID string) error {
	c.use.Lock()
	c.under++
	over := c.under > fewConns
	of[saleID]++
	c.use.Unlock()
	time.Sleep(busyAnswer)
	c.use.Lock()
	defer c.use.Unlock()
	c.under--
	if over {
		return errPool
	}
	return nil
}

func (c *crowded) Watch(ctx context.Context, changed func(sale.Entry), replayed func()) error {
	for n := range manySales {
		changed(sale.Entry{Sale: sale.Sale{ID: fmt.Sprint("sale-", n)}, Epoch: 1, Rev: 1})
	}
	replayed()
	<-ctx.Done()
	return ctx.Err()
}

func (c *crowded) Snapshot(_ context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	err := c.call(c.looked, saleID)
	return sale.Snapshot{SaleID: saleID, Epoch: epoch, Rank: 1, Now: time.Now()}, sale.HandOff{}, err
}

func (c *crowded) Overdue(_ context.Context, saleID string, _ int64, _ time.Duration, _ int) ([]sale.Reservation, error) {
	return nil, c.call(c.swept, saleID)
}

func (c *crowded) EachTicket(_ context.Context, saleID string, _ int64, _ func(sale.Ticket) error) error {
	c.use.Lock()
	c.scans++
	over := c.scans > scansAtOnce
	c.scanned[saleID]++
	c.use.Unlock()
	time.Sleep(busyAnswer)
	c.use.Lock()
	defer c.use.Unlock()
	c.scans--
	if over {
		return errPool
	}
	return nil
}

func TestFulfilment_ManySalesLookOverTheConnectionsThereAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crowded{swept: map[string]int{}, looked: map[string]int{}, scanned: map[string]int{}}
		c.patient = true
		f := newFulfilment(&c.script)
		f.stores.Catalogue, f.stores.Stock = c, c
		var logged bytes.Buffer
		f.log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := f.Run(ctx, func() {}); err != nil {
			t.Fatal(err)
		}
		if logged.Len() > 0 {
			t.Errorf("%.2000s", logged.String())
		}
		if len(c.swept) != manySales || len(c.looked) != manySales || len(c.scanned) != manySales {
			t.Errorf("%d sales swept, %d looked at, %d scanned, of %d", len(c.swept), len(c.looked), len(c.scanned), manySales)
		}
	})
}

func TestPlaces_ALookIsTimedFromWhenItHasItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		leave, err := p.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*callTimeout, leave)
		err = p.look(t.Context(), func(ctx context.Context) error { return ctx.Err() })
		if err != nil {
			t.Errorf("called late: %v", err)
		}
		if _, err := p.take(t.Context()); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}
