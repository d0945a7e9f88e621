package tickets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// ErrRetired says that the sale's tickets are archived.
var ErrRetired = errors.New("the sale is retired")

// Stock has the tickets.
type Stock interface {
	Tickets(ctx context.Context, saleID string, epoch int64, rids []string) (sale.Snapshot, []*sale.Ticket, error)
	TicketsOf(ctx context.Context, saleID string, epoch int64, userID string) (sale.Snapshot, []*sale.Ticket, error)
}

// Reader reads tickets. It is safe for concurrent use.
type Reader struct {
	stock   Stock
	waiters *Waiters
	timeout time.Duration
	reading chan struct{} // has room for the reads that may be under way
}

// NewReader builds a reader that makes most calls at a time. timeout bounds one
// read, the wait for its turn included: polls must not queue up without bound, nor
// take the connections that reserve calls need.
func NewReader(stock Stock, waiters *Waiters, most int, timeout time.Duration) *Reader {
	return &Reader{stock: stock, waiters: waiters, timeout: timeout, reading: make(chan struct{}, most)}
}

// Ref names a ticket: what its signed string holds, and its owner.
type Ref struct {
	RID    string
	Slot   int
	UserID string
}

// One reads a ticket whose signature was checked. If it is not there at a live
// epoch it was never answered 202, and reads as rejected. A sale that is not live
// is sale.ErrStale, never "not there".
func (r *Reader) One(s *catalog.Sale, ref Ref) (sale.Ticket, error) {
	found, err := r.read(s, func(ctx context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error) {
		return r.stock.Tickets(ctx, s.ID(), epoch, []string{ref.RID})
	})
	switch {
	case err != nil:
		return sale.Ticket{}, err
	case found[0] == nil:
		return notAccepted(ref), nil
	default:
		return *found[0], nil
	}
}

// Of reads a user's last ticket of each slot, newest first.
func (r *Reader) Of(s *catalog.Sale, userID string) ([]*sale.Ticket, error) {
	return r.read(s, func(ctx context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error) {
		return r.stock.TicketsOf(ctx, s.ID(), epoch, userID)
	})
}

type call func(ctx context.Context, epoch int64) (sale.Snapshot, []*sale.Ticket, error)

// read asks with the announced epoch, and takes in what the reply says of the sale.
func (r *Reader) read(s *catalog.Sale, ask call) ([]*sale.Ticket, error) {
	e := s.Entry()
	switch {
	case e.Retired:
		return nil, ErrRetired
	case e.Rebuilding:
		// Redis may be live at this epoch already and still lose it: what the next one is
		// made of is not known before Postgres has said that this one is the sale's.
		return nil, fmt.Errorf("cannot read tickets: the sale is being rebuilt: %w", sale.ErrStale)
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot read tickets: too many reads wait: %w", ctx.Err())
	}
	sent := s.Clock()
	snap, found, err := ask(ctx, e.Epoch)
	if err != nil {
		if errors.Is(err, sale.ErrStale) {
			s.Disown(e.Epoch)
		}
		return nil, fmt.Errorf("cannot read tickets: %w", err)
	}
	s.Observe(snap, sent, s.Clock())
	return found, nil
}

func notAccepted(ref Ref) sale.Ticket {
	at := DrawnAt(ref.RID)
	return sale.Ticket{
		Reservation: sale.Reservation{RID: ref.RID, UserID: ref.UserID, Slot: ref.Slot, AcceptedAt: at},
		Status:      sale.StatusRejected, Reason: sale.ReasonNotAccepted, UpdatedAt: at,
	}
}

// DrawnAt is the time inside a UUIDv7: when the gateway took the attempt in.
func DrawnAt(rid string) time.Time {
	id, err := uuid.Parse(rid)
	if err != nil {
		return time.Time{}
	}
	sec, nsec := id.Time().UnixTime()
	return time.Unix(sec, nsec).UTC()
}
