package fulfil

import (
	"context"
	"errors"
	"time"

	"sluice/shared/service"
	"sluice/worker/internal/pacing"
)

const (
	topUpEvery   = 20 * time.Millisecond // between looks for more while the next batch could be larger
	inHandFactor = 2                     // batches in hand for each consumer: what is ordered is still to be shown
)

// Refusals of a batch by Postgres; every other error is a fault of the moment.
var (
	// ErrRefused is of the batch as a whole: its epoch is not the sale's current
	// one, or the sale is retired or unknown.
	ErrRefused = errors.New("batch is refused")
	// ErrInvalid is of one or more reservations in it, for what they are.
	ErrInvalid = errors.New("reservation is invalid")
	// ErrOverloaded is a fault of the moment: Postgres had no time or no connection left.
	ErrOverloaded = errors.New("postgres is overloaded")
)

// BeyondError refuses a batch of an older epoch of which a part must wait for the end
// of the rebuild that replaces it; hand-overs up to LastSeq can be decided now.
type BeyondError struct {
	LastSeq uint64
	Cause   error
}

func (e *BeyondError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *BeyondError) Unwrap() error { return e.Cause }

// consumer brings the hand-overs of one sale to Postgres. One goroutine gathers them,
// and has a batch ordered by another whenever it is the sale's turn: the next batch
// while the last one is in flight only if it is full, so that batches grow when orders
// are slower than arrivals, and nobody waits for company when they are not. After a fault
// of the moment it gives back what it has and pulls nothing for a while.
type consumer struct {
	*saleWorker
	source   Source // nil until opened, and after a fault of the stream
	keeper   *keeper
	gatherer gatherer
	pause    time.Duration // after the last fault; 0 when all is well
	faultAt  time.Time     // of the last fault
	round    int           // pauses so far
	lookedAt time.Time     // at what is there

	events   chan event // of the batches in hand
	inHand   int        // batches
	ordering int        // of them, those whose orders are not decided

	faults, refusals, rejections, misreads, delays service.Quiet
}

// event is a batch whose orders are decided, or one that is done with.
type event struct {
	done  bool
	batch gathered // of one that is done with
	err   error
}

func newConsumer(w *saleWorker, k *keeper) *consumer {
	most := inHandFactor * w.cfg.Consumers
	return &consumer{saleWorker: w, keeper: k, gatherer: gatherer{keeper: k}, events: make(chan event, 2*most)}
}

// run consumes until ctx ends, finishes the batches in hand, and gives back the rest.
func (c *consumer) run(ctx, work context.Context) {
	defer close(c.keeper.done)
	defer c.pacer.Forget(c.saleID)
	for ctx.Err() == nil {
		if err := c.step(ctx, work); err != nil {
			c.backOff(ctx, err)
		}
	}
	_ = c.finish() // what is at fault is in hand again
	c.giveBack(c.gatherer.held, 0)
}

// step has one batch begun, if there is one and it is its turn.
func (c *consumer) step(ctx, work context.Context) error {
	if err := c.concludeAll(); err != nil {
		return err
	}
	if c.inHand >= inHandFactor*c.cfg.Consumers {
		return c.await(ctx, idleWait)
	}
	if wait := topUpEvery - time.Since(c.lookedAt); wait > 0 && c.ordering > 0 && !c.gatherer.more && !c.gatherer.full() {
		return c.await(ctx, wait)
	}
	if err := c.gather(work); err != nil {
		return err
	}
	switch empty := len(c.gatherer.held) == 0; {
	case empty && c.inHand == 0:
		return nil
	case empty, c.ordering > 0 && !c.gatherer.full():
		return c.await(ctx, topUpEvery)
	}
	asked := time.Now()
	turn, err := c.pacer.Turn(ctx, c.saleID, c.gatherer.size())
	if err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	if time.Since(asked) > time.Millisecond {
		if err := c.catchUp(work); err != nil {
			turn.Done()
			return err
		}
	}
	return c.begin(work, turn)
}

// catchUp heeds what happened while the turn was long in coming: faults of batches in
// hand, first of all, and more to order.
func (c *consumer) catchUp(work context.Context) error {
	if err := c.concludeAll(); err != nil {
		return err
	}
	return c.gather(work)
}

// gather pulls what is there. It waits for something only while nothing is in hand,
// when there is nothing else to wait for.
func (c *consumer) gather(work context.Context) error {
	if err := c.open(work); err != nil {
		return err
	}
	wait := idleWait
	if c.inHand > 0 {
		wait = 0
	}
	c.lookedAt = time.Now()
	if err := c.gatherer.fill(c.source, wait); err != nil {
		c.source = nil // its consumer may be gone: open it again
		return err
	}
	return nil
}

func (c *consumer) open(work context.Context) (err error) {
	if c.source != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	c.source, err = c.stores.Consume(ctx, c.saleID)
	return err
}

// begin has the next batch ordered, shown and acknowledged.
func (c *consumer) begin(work context.Context, turn *pacing.Turn) error {
	batch, unreadable := c.gatherer.take()
	if err := c.bury(work, unreadable); err != nil {
		turn.Done()
		c.gatherer.held = append(batch.deliveries, c.gatherer.held...)
		return err
	}
	c.countRedelivered(batch.deliveries)
	if len(batch.deliveries) == 0 {
		turn.Done()
		return nil
	}
	turn.Pay(len(batch.Reservations))
	batch.round = c.round
	c.inHand++
	c.ordering++
	go func() { // it ends with its last event, which finish waits for
		err := c.decide(work, batch, turn)
		if err == nil {
			c.acknowledge(batch.deliveries)
		}
		c.events <- event{done: true, batch: batch, err: err}
	}()
	return nil
}

// await waits until something becomes of a batch in hand, or for a while.
func (c *consumer) await(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case e := <-c.events:
		return c.conclude(e)
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil
}

// concludeAll heeds what has become of the batches in hand so far.
func (c *consumer) concludeAll() error {
	for {
		select {
		case e := <-c.events:
			if err := c.conclude(e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// finish waits for the batches in hand, and returns their first fault.
func (c *consumer) finish() (first error) {
	for c.inHand > 0 {
		if err := c.conclude(<-c.events); first == nil {
			first = err
		}
	}
	return first
}

// conclude heeds what has become of a batch. A fault of the moment is returned, with
// the batch in hand again.
func (c *consumer) conclude(e event) error {
	if !e.done {
		c.ordering--
		return nil
	}
	c.inHand--
	var beyond *BeyondError
	switch {
	case errors.As(e.err, &beyond):
		c.postpone(e.batch, beyond.LastSeq)
	case errors.Is(e.err, ErrRefused):
		c.refuse(e.batch, e.err)
	case e.err != nil && e.batch.round < c.round: // of the fault that led to the last pause
		c.giveBack(e.batch.deliveries, c.pause)
	case e.err != nil:
		c.gatherer.held = append(e.batch.deliveries, c.gatherer.held...)
		return e.err
	case e.batch.round == c.round:
		c.pause = 0
	}
	return nil
}

func (c *consumer) acknowledge(deliveries []Delivery) {
	c.keeper.release(deliveries)
	for _, d := range deliveries {
		if err := d.Reply.Ack(); err != nil && c.faults.Allow() {
			c.log.Warn("acknowledgement failed", "seq", d.Seq, "error", err) // it comes again and is known
		}
	}
}

func (c *consumer) countRedelivered(deliveries []Delivery) {
	for _, d := range deliveries {
		if d.Redelivered {
			c.metrics.redelivered.Inc()
		}
	}
}
