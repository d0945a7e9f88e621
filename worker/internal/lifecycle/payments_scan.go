package lifecycle

import (
	"context"
	"errors"
	"time"

	"sluice/shared/sale"
)

// scan is where one walk over the events that wait has come to.
type scan struct {
	rows   paymentRows
	apply  func(ctx context.Context, eventIDs []string) (waits bool, faults []error)
	most   int           // events of one walk
	soon   chan struct{} // nil if nobody asks for one
	pause  time.Duration // before one that is asked for
	cursor sale.Payment  // where the next one begins
	young  sale.Payment  // where it goes on among the young ones
}

// repeat scans until ctx ends.
func (p *Payments) repeat(ctx context.Context, s *scan, once func() error) {
	for {
		if err := once(); err != nil && ctx.Err() == nil && p.faults.Allow() {
			p.log.Warn("payments postponed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.soon:
			if pauseFor(ctx, s.pause) != nil {
				return
			}
		case <-time.After(paymentsEvery):
		}
	}
}

// once tries the events that wait, some pages of them: events of another shop would
// have it read more, and for ever, the longer they come. The next time goes on where this one
// stopped. Those that came a short while ago, late payments that were just stored or payments a
// moment before their orders, are looked at each time: they do not wait for the whole walk.
// Which are young is told by this worker's clock; when it is wrong they wait as the others do.
func (s *scan) once(ctx context.Context) (err error) {
	var did walked
	defer func() {
		s.pause = did.pause(s.pause)
		if did.cut && len(did.faults) < paymentsFaults {
			s.poke()
		}
	}()
	if s.cursor, err = s.walk(ctx, s.cursor, &did); err != nil {
		return err
	}
	if s.cursor == (sale.Payment{}) || len(did.faults) >= paymentsFaults {
		return errors.Join(did.faults...)
	}
	if since := time.Now().Add(-paymentsYoung); s.young.ReceivedAt.Before(since) {
		s.young = sale.Payment{ReceivedAt: since}
	}
	if s.young, err = s.walk(ctx, s.young, &did); err != nil {
		return err
	}
	return errors.Join(did.faults...)
}

// poke makes a scan go on soon.
func (s *scan) poke() {
	select {
	case s.soon <- struct{}{}:
	default: // it will
	}
}

// walked is what one scan met.
type walked struct {
	faults []error
	waits  bool // for a release
	cut    bool // there were more than one walk tries
}

// pause is how long the next scan that is asked for is put off.
func (w *walked) pause(last time.Duration) time.Duration {
	if w.waits {
		return min(2*last, paymentsEvery) // Redis may be away for long
	}
	return paymentsSoon
}

// walk tries the events behind after and says where to go on, zero behind the last. One that
// has met many faults stops there, so that a sale whose state is away does not hide the others.
func (s *scan) walk(ctx context.Context, after sale.Payment, did *walked) (sale.Payment, error) {
	left := s.most
	for range paymentsPages {
		read, cancel := context.WithTimeout(ctx, callWithin)
		page, next, err := s.rows.UnappliedPayments(read, after, paymentsPage)
		cancel()
		if err != nil {
			return after, err
		}
		after = next
		if len(page) > left {
			page = page[:left]
			after = page[left-1]
		}
		left -= len(page)
		did.cut = did.cut || left == 0 && after != (sale.Payment{})
		ids := make([]string, len(page))
		for i, e := range page {
			ids[i] = e.EventID
		}
		waits, found := s.apply(ctx, ids)
		did.faults, did.waits = append(did.faults, found...), did.waits || waits
		if after == (sale.Payment{}) || left == 0 || ctx.Err() != nil || len(did.faults) >= paymentsFaults {
			break
		}
	}
	return after, nil
}
