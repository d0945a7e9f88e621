package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/shared/sale"
)

// Points between the steps, for failpoints: Hit is called with them.
const (
	Begun    = "begun"    // Postgres has handed out the epoch
	Fenced   = "fenced"   // Redis refuses everything but this load
	Waited   = "waited"   // no gateway answers for older epochs any more
	Counted  = "counted"  // as of here, in Postgres
	Loaded   = "loaded"   // Redis has all tickets
	Flipped  = "flipped"  // Redis is live at the epoch
	Finished = "finished" // Postgres says so; the catalogue does not yet
)

// Points lists all of them in order.
func Points() []string { return []string{Begun, Fenced, Waited, Counted, Loaded, Flipped, Finished} }

const (
	callWithin  = 5 * time.Second  // of one call to JetStream
	countWithin = 15 * time.Minute // of reading and loading a sale of any size
	askAgain    = 100 * time.Millisecond
	maxFences   = 3 // how often one run starts over because its fence was gone
)

// Truth is Postgres.
type Truth interface {
	Entry(ctx context.Context, saleID string) (sale.Entry, error)
	// BeginLoad gives this run an epoch that no other run has or had, above the given
	// one, which survives elsewhere when Postgres was restored old.
	BeginLoad(ctx context.Context, saleID string, above int64) (sale.Entry, error)
	SetLastSequence(ctx context.Context, saleID string, epoch int64, sequence uint64) error
	Count(ctx context.Context, saleID string, epoch int64, parts sale.LoadParts) error
	FinishLoad(ctx context.Context, saleID string, epoch int64) (sale.Entry, error)
	// PacePause says whether orders wait for an operator.
	PacePause(ctx context.Context) (sale.PacePause, error)
	// Undecided returns those of rids that nothing was decided about.
	Undecided(ctx context.Context, rids []string) ([]string, error)
}

// Stock is Redis. Fence, the loads and Flip fail with sale.ErrFence once another load
// has fenced the sale, or Redis was started again.
type Stock interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
	Fence(ctx context.Context, saleID string, epoch int64, token string) error
	LoadAllow(ctx context.Context, saleID string, epoch int64, token string, users []string) error
	LoadAdjusted(ctx context.Context, saleID string, epoch int64, token string, adjusted []sale.Adjustment) error
	LoadTickets(ctx context.Context, saleID string, epoch int64, token string, tickets []sale.LoadTicket) error
	Flip(ctx context.Context, token string, l sale.Live) error
	DropOlderEpochs(ctx context.Context, saleID string, epoch int64) error
	// OlderEpochs are those of which tickets are left; EachTicket reads them, fenced or not.
	OlderEpochs(ctx context.Context, saleID string, epoch int64) ([]int64, error)
	EachTicket(ctx context.Context, saleID string, epoch int64, visit func(sale.Ticket) error) error
}

// Queue is JetStream, with the catalogue.
type Queue interface {
	Announced(ctx context.Context, saleID string) (sale.Entry, bool, error)
	PutEntry(ctx context.Context, e sale.Entry) (changed bool, err error)
	Publish(ctx context.Context, h sale.HandOver) (seq uint64, err error)
	LastSequence(ctx context.Context, saleID string) (uint64, error)
	Acknowledged(ctx context.Context, saleID string, sequence uint64) (bool, error)
	NotifySnapshot(s sale.Snapshot) error
}

// Loader brings sales live. The caller holds the sale's lock.
type Loader struct {
	Truth Truth
	Stock Stock
	Queue Queue
	Hit   func(point string) error // its error ends the run; never nil
	Log   *slog.Logger

	// Room lets a run count and load, which is what costs, until leave; nil lets all at
	// once. To wait for orders takes no room: other sales must not wait for this one's.
	Room func(ctx context.Context) (leave func(), err error)
}

// Outcome says how a run ended without an error.
type Outcome string

// Outcomes of a run.
const (
	Already   Outcome = "already"   // Redis was live at the epoch: a broken-off load needed no more than its end
	Live      Outcome = "live"      // loaded, at a new epoch
	Overtaken Outcome = "overtaken" // a later load has begun elsewhere
)

// Done is what a run did.
type Done struct {
	Outcome Outcome
	Entry   sale.Entry
	Last    uint64 // sequence up to which hand-overs were ordered
	Saved   int    // reservations that only Redis had, handed over again
	Tickets int
	Live    sale.Live
	// How long the steps took.
	Waiting, Ordering, Loading, Whole time.Duration
}

// Run brings the sale live, whatever an earlier run may have done.
func (l *Loader) Run(ctx context.Context, saleID string) (Done, error) {
	start := time.Now()
	var done Done
	var err error
	for range maxFences {
		done, err = l.once(ctx, saleID)
		if !errors.Is(err, sale.ErrFence) || l.overtaken(ctx, done.Entry) {
			break
		}
		l.Log.Warn("load starts over", "sale", saleID, "epoch", done.Entry.Epoch, "error", err)
	}
	if err != nil && l.overtaken(ctx, done.Entry) {
		done.Outcome, err = Overtaken, nil
	}
	done.Whole = time.Since(start)
	return done, err
}

func (l *Loader) overtaken(ctx context.Context, e sale.Entry) bool {
	if e.Epoch == 0 || ctx.Err() != nil {
		return false
	}
	now, err := l.Truth.Entry(ctx, e.ID)
	return err == nil && (now.Epoch > e.Epoch || now.Retired)
}

// once runs the steps at one epoch.
func (l *Loader) once(ctx context.Context, saleID string) (done Done, err error) {
	entry, live, err := l.begin(ctx, saleID)
	done.Entry = entry
	if err != nil {
		return done, err
	}
	if live {
		done.Outcome = Already
		return done, l.finish(ctx, &done)
	}
	if err := l.Hit(Begun); err != nil {
		return done, err
	}
	if err := l.announce(ctx, entry); err != nil {
		return done, err
	}
	token := rand.Text()
	if err := l.Stock.Fence(ctx, saleID, entry.Epoch, token); err != nil {
		return done, err
	}
	if err := l.Hit(Fenced); err != nil {
		return done, err
	}
	if err := l.settleOlder(ctx, &done); err != nil {
		return done, err
	}
	if err := l.fill(ctx, &done, token); err != nil {
		return done, err
	}
	if err := l.Hit(Flipped); err != nil {
		return done, err
	}
	done.Outcome = Live
	return done, l.finish(ctx, &done)
}

// begin finds the epoch to load, or that Redis is live at Postgres's already. An entry in
// the catalogue that is newer than Postgres's is of a Postgres that was restored old:
// then even the same epoch is another one, and nothing would replace that entry.
func (l *Loader) begin(ctx context.Context, saleID string) (e sale.Entry, live bool, err error) {
	if e, err = l.Truth.Entry(ctx, saleID); err != nil {
		return e, false, err
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	announced, _, err := l.Queue.Announced(call, saleID)
	if err != nil {
		return e, false, err
	}
	stray := announced.NewerThan(e)
	snapshot, _, err := l.Stock.Snapshot(ctx, saleID, e.Epoch)
	switch {
	case err == nil && e.Epoch > 0 && !stray:
		return e, true, nil
	case err != nil && !errors.Is(err, sale.ErrStale):
		return e, false, err
	}
	above := snapshot.Epoch
	if stray { // else it is Postgres's own
		above = max(above, announced.Epoch)
	}
	e, err = l.Truth.BeginLoad(ctx, saleID, above)
	return e, false, err
}

func (l *Loader) announce(ctx context.Context, e sale.Entry) error {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := l.Queue.PutEntry(call, e)
	return err
}

// finish tells Postgres, then everybody, that the epoch is live.
func (l *Loader) finish(ctx context.Context, done *Done) (err error) {
	id, epoch := done.Entry.ID, done.Entry.Epoch
	if done.Entry, err = l.Truth.FinishLoad(ctx, id, epoch); err != nil {
		done.Entry.ID, done.Entry.Epoch = id, epoch
		return err
	}
	if err := l.Hit(Finished); err != nil {
		return err
	}
	if err := l.announce(ctx, done.Entry); err != nil {
		return err
	}
	// From here on nothing is owed: gateways that miss the news read the sale again
	// within a second, and old keys that stay are removed by the next load.
	if snapshot, _, err := l.Stock.Snapshot(ctx, id, epoch); err == nil {
		_ = l.Queue.NotifySnapshot(snapshot)
	}
	if err := l.Stock.DropOlderEpochs(ctx, id, epoch); err != nil {
		l.Log.Warn("old epochs stay in redis", "sale", id, "epoch", epoch, "error", err)
	}
	return nil
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("broken off: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
