package fulfil

import (
	"time"

	"sluice/shared/sale"
)

const (
	idleWait = time.Second // of a pull when nothing is there; also how long a stop may have to wait
	maxPull  = 64          // hand-overs a pull asks for
)

// Delivery is one hand-over, delivered.
type Delivery struct {
	HandOver    sale.HandOver
	Err         error  // set when it cannot be read; HandOver is then zero
	Raw         Raw    // of one that cannot be read
	Seq         uint64 // in the stream
	Redelivered bool
	More        bool // were waiting when it was delivered
	Reply       Reply
}

// Reply tells the stream what became of a delivery.
type Reply interface {
	Ack() error
	NakAfter(pause time.Duration) error // asks for it again, after pause
	InProgress() error                  // renews the ack wait
}

// Source delivers the hand-overs of one sale.
type Source interface {
	// Fetch returns up to limit hand-overs as soon as it has them all, or what
	// came within wait.
	Fetch(limit int, wait time.Duration) ([]Delivery, error)
}

// Batch is what one order transaction decides: reservations of one sale, epoch
// and price. It may name a rid twice.
type Batch struct {
	SaleID       string
	Epoch        int64
	PriceMinor   int64 // minor units of Currency, for each
	Currency     string
	Reservations []sale.Reservation // up to MaxBatch
	Sequences    []uint64           // of the hand-over of each
}

// gathered is a batch with the deliveries that it came by.
type gathered struct {
	Batch
	deliveries []Delivery
	round      int // of the consumer
}

// gatherer makes batches out of hand-overs. It takes what is there and never
// waits for more, so batches grow only when orders are slower than arrivals.
type gatherer struct {
	keeper *keeper
	held   []Delivery // delivered, not yet in a batch
	more   bool       // were waiting when the last one was delivered
}

// fill pulls until a batch is full or nothing more is there, and waits for the first.
func (g *gatherer) fill(source Source, wait time.Duration) error {
	if len(g.held) == 0 && wait > 0 {
		if _, err := g.pull(source, 1, wait); err != nil || !g.more {
			return err
		}
	}
	for ask := g.room(); ask > 0; ask = g.room() {
		got, err := g.pull(source, ask, 0)
		if err != nil && len(g.held) == 0 {
			return err
		}
		if err != nil || got < ask || !g.more { // the fault comes again with the next batch; this one is not held up
			break
		}
	}
	return nil
}

func (g *gatherer) pull(source Source, limit int, wait time.Duration) (got int, err error) {
	deliveries, err := source.Fetch(limit, wait)
	g.keeper.keep(deliveries)
	g.held = append(g.held, deliveries...)
	g.more = len(deliveries) > 0 && deliveries[len(deliveries)-1].More
	return len(deliveries), err
}

// full reports whether no more goes into the next batch.
func (g *gatherer) full() bool { return len(g.held) > 0 && g.room() <= 0 }

// size is how many reservations are held, up to a batch.
func (g *gatherer) size() (n int) {
	for _, d := range g.held {
		n += len(d.HandOver.Reservations)
	}
	return min(n, MaxBatch)
}

// room is how many more hand-overs, as large as those held, fill the batch. The one that
// is too much is held for the next: without it batches would be a third smaller. Of hand-overs
// that nobody can read, which have no size, no more are held than are pulled at once.
func (g *gatherer) room() int {
	total := 0
	for _, d := range g.held {
		total += len(d.HandOver.Reservations)
	}
	if total == 0 {
		return min(MaxBatch/sale.MaxHandOver, maxPull-len(g.held))
	}
	missing, mean := MaxBatch-total, max(1, total/len(g.held))
	return min((missing+mean-1)/mean, maxPull)
}

// take removes the next batch, which may be empty, and the unreadable
// deliveries met on the way to it.
func (g *gatherer) take() (batch gathered, unreadable []Delivery) {
	taken := 0
	for _, d := range g.held {
		switch {
		case d.Err != nil:
			unreadable = append(unreadable, d)
		case batch.fits(d.HandOver):
			batch.add(d)
		default:
			g.held = g.held[taken:]
			return batch, unreadable
		}
		taken++
	}
	g.held = nil
	return batch, unreadable
}

func (b *gathered) fits(h sale.HandOver) bool {
	if len(b.deliveries) == 0 {
		return true
	}
	return h.Epoch == b.Epoch && h.PriceMinor == b.PriceMinor && h.Currency == b.Currency &&
		len(b.Reservations)+len(h.Reservations) <= MaxBatch
}

func (b *gathered) add(d Delivery) {
	h := d.HandOver
	if len(b.deliveries) == 0 {
		b.Batch = Batch{SaleID: h.SaleID, Epoch: h.Epoch, PriceMinor: h.PriceMinor, Currency: h.Currency}
	}
	b.deliveries = append(b.deliveries, d)
	b.Reservations = append(b.Reservations, h.Reservations...)
	for range h.Reservations {
		b.Sequences = append(b.Sequences, d.Seq)
	}
}

// split takes a batch apart by the sequence of its deliveries.
func (b *gathered) split(last uint64) (within, beyond []Delivery) {
	for _, d := range b.deliveries {
		if d.Seq <= last {
			within = append(within, d)
		} else {
			beyond = append(beyond, d)
		}
	}
	return within, beyond
}
