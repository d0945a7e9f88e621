package fulfil

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	lostEvery   = time.Minute     // between looks when nothing gives reason for one
	lostAgain   = 5 * time.Second // after a look that failed
	floorEvery  = time.Second     // between looks at what is acknowledged
	scanTimeout = 2 * time.Minute
)

// errNotSwept says that old reservations wait for the sweeper: nothing is lost until
// it had its turn.
var errNotSwept = errors.New("reservations wait to be swept")

// ticketList reads a sale's tickets.
type ticketList interface {
	EachTicket(ctx context.Context, saleID string, epoch int64, visit func(sale.Ticket) error) error
}

// position says how far the stream and the consumers of a sale are.
type position interface {
	LastSequence(ctx context.Context, saleID string) (uint64, error)
	Acknowledged(ctx context.Context, saleID string, sequence uint64) (bool, error)
}

// lost hands over again what is queued in Redis though no hand-over will bring
// it any more: it was in one that could not be read, or the stream has lost it.
// That is certain once everything that was in the stream when the ticket was
// already handed over is acknowledged, and Postgres has still decided nothing.
// What Postgres has decided and no redelivery will settle any more is shown.
//
// It costs one snapshot a minute while every ticket has its outcome; only else,
// and only once the backlog of that moment is served, are the tickets read. It
// looks at once when this process buries a hand-over, when it starts, after
// one that may have died at it, and when the stream may be an older copy or a
// new one: sequences that start over do no harm, because it compares them only
// with those of the same look.
//
// A confirmed ticket had its row: a Postgres that has lost rows is for a rebuild.
type lost struct {
	*saleWorker
	loop   loop
	faults service.Quiet
}

func newLost(w *saleWorker) *lost { return &lost{saleWorker: w, loop: newLoop()} }

// poke makes it look soon.
func (l *lost) poke() { l.loop.poke() }

func (l *lost) run(ctx context.Context) {
	l.poke()
	l.loop.run(ctx, lostEvery, func() {
		err := l.look(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !errors.Is(err, sale.ErrStale) && !errors.Is(err, errNotSwept) && l.faults.Allow() {
			l.log.Warn("look for lost reservations failed", "error", err)
		}
		if pauseFor(ctx, lostAgain) == nil {
			l.poke()
		}
	})
}

// look waits until the reservations of the hand-over that gave reason for it
// are old enough to be looked at, and then until the backlog is acknowledged.
func (l *lost) look(ctx context.Context) error {
	if err := pauseFor(ctx, l.cfg.SweepAfter); err != nil {
		return err
	}
	e := l.entry.Load()
	before, last, err := l.mark(ctx, e.Epoch)
	if err != nil || before.IsZero() {
		return err
	}
	for {
		done, err := l.acknowledged(ctx, last)
		if err != nil {
			return err
		}
		if done {
			return l.scan(ctx, e, before)
		}
		if err := pauseFor(ctx, floorEvery); err != nil {
			return err
		}
	}
}

// mark reads the stream's last sequence. Tickets from before the returned time
// were handed over by then, or are in handoff, which the sweeper looks after. The
// time is zero when every ticket has its outcome.
func (l *lost) mark(ctx context.Context, epoch int64) (before time.Time, last uint64, err error) {
	s, handOff, err := l.snapshot(ctx, epoch)
	if err != nil || s.Served >= s.Rank {
		return time.Time{}, 0, err
	}
	before = s.Now.Add(-l.cfg.SweepAfter)
	if handOff.Count > 0 && handOff.Oldest.Before(before) {
		return time.Time{}, 0, errNotSwept
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	last, err = l.stores.HandOvers.LastSequence(ctx, l.saleID)
	if err != nil {
		return time.Time{}, 0, err
	}
	return before, last, nil
}

func (l *lost) snapshot(ctx context.Context, epoch int64) (s sale.Snapshot, h sale.HandOff, err error) {
	err = l.looks.look(ctx, func(ctx context.Context) error {
		s, h, err = l.stores.Stock.Snapshot(ctx, l.saleID, epoch)
		return err
	})
	return s, h, err
}

func (l *lost) acknowledged(ctx context.Context, last uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return l.stores.HandOvers.Acknowledged(ctx, l.saleID, last)
}

// scan reads the tickets, a page of the queued ones in memory at a time.
func (l *lost) scan(ctx context.Context, e *sale.Entry, before time.Time) error {
	leave, err := l.scans.take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	var page []sale.Reservation
	flush := func() error {
		defer func() { page = page[:0] }()
		if len(page) == 0 {
			return nil
		}
		return l.handOver(ctx, e, page)
	}
	err = l.stores.Stock.EachTicket(ctx, l.saleID, e.Epoch, func(t sale.Ticket) error {
		if t.Status != sale.StatusQueued || !t.AcceptedAt.Before(before) {
			return nil
		}
		if page = append(page, t.Reservation); len(page) == sale.MaxHandOver {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// handOver publishes those of a page that Postgres has decided nothing about. The
// others were decided and not settled: their hand-over is gone, and so is the
// redelivery that would have settled them, so they are left to the shown loop.
func (l *lost) handOver(ctx context.Context, e *sale.Entry, page []sale.Reservation) error {
	undecided, err := l.stores.Orders.Undecided(ctx, ridsOf(page))
	if err != nil {
		return err
	}
	isUndecided := func(r sale.Reservation) bool { return slices.Contains(undecided, r.RID) }
	if decided := slices.DeleteFunc(slices.Clone(page), isUndecided); len(decided) > 0 {
		if err := l.stores.Orders.Unshow(ctx, ridsOf(decided)); err != nil {
			return err
		}
	}
	if len(undecided) == 0 {
		return nil
	}
	gone := slices.DeleteFunc(slices.Clone(page), func(r sale.Reservation) bool { return !isUndecided(r) })
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	seq, err := l.stores.HandOvers.Publish(ctx, sale.HandOver{
		SaleID: l.saleID, Epoch: e.Epoch, PriceMinor: e.PriceMinor, Currency: e.Currency, Reservations: gone,
	})
	if err != nil {
		return err
	}
	l.metrics.lost.Add(float64(len(gone)))
	l.log.Warn("lost reservations handed over again", "seq", seq, "reservations", len(gone))
	return nil
}

// pauseFor waits, unless ctx ends first.
func pauseFor(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
