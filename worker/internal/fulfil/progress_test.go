package fulfil

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
)

// counter is a Redis that has served a number, and a listener to progress.
type counter struct {
	mu     sync.Mutex
	epoch  int64
	served int64
	told   []sale.Progress
}

func (c *counter) Snapshot(_ context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return sale.Snapshot{}, sale.HandOff{}, sale.ErrStale
	}
	return sale.Snapshot{SaleID: saleID, Epoch: c.epoch, Served: c.served}, sale.HandOff{}, nil
}

func (c *counter) NotifyProgress(p sale.Progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, p)
	return nil
}

func (c *counter) take() []sale.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	return told
}

func TestProgress_FourTimesASecondWhenChangedElseOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &counter{epoch: 1, served: 5}
		epoch := int64(1)
		p := &progress{saleID: "phone", worker: "w", epoch: func() int64 { return epoch }, share: func() float64 { return 70 }, stock: c, hints: c, looks: newPlaces(1)}
		ended := make(chan struct{})
		go func() { defer close(ended); p.run(ctx) }()

		time.Sleep(10100 * time.Millisecond)
		if told := c.take(); len(told) != 10 || told[9].Served != 5 || told[9].RatePerSecond != 0 || told[9].Pace != 70 {
			t.Errorf("at rest for ten seconds: told %d times: %+v", len(told), told)
		}
		for i := range 40 {
			p.observe(sale.Snapshot{Epoch: 1, Served: 6 + int64(i)})
			time.Sleep(250 * time.Millisecond)
		}
		told := c.take()
		if last := told[len(told)-1]; len(told) != 40 || last.RatePerSecond < 3.9 || last.RatePerSecond > 4.1 {
			t.Errorf("at four a second for ten seconds: told %d times, last %+v", len(told), last)
		}
		cancel()
		<-ended
	})
}

func TestProgress_NeverGoesBackWithinAnEpoch(t *testing.T) {
	t.Parallel()
	p := &progress{saleID: "phone", epoch: func() int64 { return 2 }}
	for _, s := range []sale.Snapshot{{Epoch: 1, Served: 50}, {Epoch: 1, Served: 40}, {Epoch: 2, Served: 10}, {Epoch: 1, Served: 60}} {
		p.observe(s)
	}
	if got := p.read(); got.Epoch != 2 || got.Served != 10 {
		t.Fatalf("got %+v", got)
	}
}
