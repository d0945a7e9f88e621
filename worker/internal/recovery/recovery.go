package recovery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	lookEvery  = time.Second      // how long a restarted Postgres may wait for its comparison
	lookWithin = 5 * time.Second  // of one look without a comparison
	callWithin = 10 * time.Second // of one call to Redis or NATS
)

// State of a server process of Postgres.
type State string

// States of a server process.
const (
	Unknown State = ""
	Behind  State = "behind"
	Current State = "current"
)

// Server is one server process: every start of Postgres is another.
type Server struct {
	StartedAt time.Time
	State     State
}

// Truth is Postgres, by connections that do not ask whether it was compared.
type Truth interface {
	Server(ctx context.Context) (Server, error)
	NoteServer(ctx context.Context, s Server) error
	// Lock makes the caller the only one that compares and recovers, unless another is.
	Lock(ctx context.Context) (unlock func(), locked bool, err error)
	Entries(ctx context.Context) ([]sale.Entry, error)
	// Undecided returns those of rids that have no outcome.
	Undecided(ctx context.Context, rids []string) ([]string, error)
	// Missing counts the tickets that Postgres does not know.
	Missing(ctx context.Context, tickets []sale.Ticket) (int, error)
	// MissingPayments and MissingAdjusted count what it has no row of.
	MissingPayments(ctx context.Context, eventIDs []string) (int, error)
	MissingAdjusted(ctx context.Context, adjusted []sale.Adjustment) (int, error)
	Adopt(ctx context.Context, known sale.Entry, live int64) (sale.Entry, error)
	// RestoreAllowList takes users as the list of number rev; newest is the last number there
	// was. When no store has that one the sale is paused, and lost is true.
	RestoreAllowList(ctx context.Context, saleID string, users []string, rev, newest int64) (lost bool, err error)
	RestoreClosed(ctx context.Context, e sale.Entry, tickets []sale.Ticket) (restored int64, err error)
	RestoreAdjusted(ctx context.Context, saleID string, adjusted []sale.Adjustment) (restored int64, err error)
	// Order decides reservations, known ones as they were, and says how many are
	// new and how many found no unit. sequences are of the hand-overs that brought
	// them, one each.
	Order(ctx context.Context, h sale.HandOver, sequences []uint64) (ordered, surplus int, err error)
	// RestoreRefunded marks an order as refunded, by the payments that Postgres has,
	// which may name the orders that it replaced, if they say that its unit came back or, without back,
	// that it did not. surplus says that there was none to keep.
	RestoreRefunded(ctx context.Context, e sale.Entry, t sale.Ticket, replaced []string, back bool) (restored int64, surplus int, err error)
	KeepPaid(ctx context.Context, rids []string) (kept int64, err error)
	RequestRebuild(ctx context.Context, saleID string, at, above int64) (e sale.Entry, requested bool, err error)
}

// Stock is Redis.
type Stock interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
	// OlderEpochs are those before epoch of which Redis still has tickets, the latest first.
	OlderEpochs(ctx context.Context, saleID string, epoch int64) ([]int64, error)
	EachTicket(ctx context.Context, saleID string, epoch int64, visit func(sale.Ticket) error) error
	Adjusted(ctx context.Context, saleID string, epoch int64) ([]sale.Adjustment, error)
	// AllowList is nobody when Redis does not have all of it.
	AllowList(ctx context.Context, saleID string, epoch int64) (users []string, rev int64, err error)
}

// Queue is JetStream.
type Queue interface {
	Entries(ctx context.Context) ([]sale.Entry, error) // of the catalogue
	// AcknowledgedUpTo is the sequence up to which a sale's hand-overs were ordered.
	AcknowledgedUpTo(ctx context.Context, saleID string) (uint64, error)
	HandOvers(ctx context.Context, saleID string, visit func(seq uint64, h sale.HandOver, unreadable error) error) error
}

// Payments are the events that the stream of payments still has.
type Payments interface {
	// Acknowledged are the ids of the events that were acknowledged last, at most so many: those
	// up to which all are.
	Acknowledged(ctx context.Context, most int) (eventIDs []string, err error)
	Keep(ctx context.Context) (events int, err error) // in Postgres, unless they are there
	Apply(ctx context.Context) error                  // those that can be applied without a new unit
}

// Recovery compares every start of Postgres with the other stores.
type Recovery struct {
	truth    Truth
	stock    Stock
	queue    Queue
	payments Payments
	metrics  *Metrics
	log      *slog.Logger
	faults   service.Quiet

	failing time.Time       // since when the comparison of the present server fails; zero when it does not
	server  time.Time       // the start of the one that is compared
	whole   map[string]bool // sales of whose tickets it has all
}

// New prepares the loop.
func New(truth Truth, stock Stock, queue Queue, payments Payments, metrics *Metrics, log *slog.Logger) *Recovery {
	return &Recovery{truth: truth, stock: stock, queue: queue, payments: payments, metrics: metrics, log: log, whole: make(map[string]bool)}
}

// Run looks once a second until ctx ends.
func (r *Recovery) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := r.look(ctx); err != nil && ctx.Err() == nil && r.faults.Allow() {
			r.tell(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tell says what is waited for. A recovery that cannot go on keeps every sale's orders, so
// it says whose state that is.
func (r *Recovery) tell(err error) {
	var stuck *notBackError
	if errors.As(err, &stuck) {
		r.log.Error("postgres is behind and cannot be brought back yet: nothing is ordered, expired, cancelled or paid", "sale", stuck.saleID, "error", err)
		return
	}
	r.log.Warn("postgres not compared with the other stores", "error", err)
}

// look does what is to be done about the server process that answers.
func (r *Recovery) look(ctx context.Context) error {
	server, err := r.answering(ctx)
	if err != nil || server.State == Current {
		r.metrics.unchecked.Set(0)
		return err
	}
	r.metrics.unchecked.Set(1)
	unlock, locked, err := r.truth.Lock(ctx)
	if err != nil || !locked {
		return err
	}
	defer unlock()
	if server, err = r.answering(ctx); err != nil || server.State == Current {
		return err // another worker was first
	}
	if server.State == Unknown {
		if !server.StartedAt.Equal(r.server) {
			r.server, r.whole = server.StartedAt, make(map[string]bool)
		}
		why, err := r.compare(ctx)
		if err != nil {
			return err
		}
		if why == "" {
			r.log.Info("postgres has what the other stores know", "started_at", server.StartedAt)
			server.State = Current
			return r.truth.NoteServer(ctx, server)
		}
		r.metrics.behind.Inc()
		r.log.Error("postgres is behind the other stores", "why", why, "started_at", server.StartedAt)
		server.State = Behind
		if err := r.truth.NoteServer(ctx, server); err != nil {
			return err
		}
	}
	if err := r.recover(ctx); err != nil {
		return err
	}
	server.State = Current
	return r.truth.NoteServer(ctx, server)
}

func (r *Recovery) answering(ctx context.Context) (Server, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return r.truth.Server(ctx)
}
