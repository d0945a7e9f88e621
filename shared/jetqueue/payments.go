package jetqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// Names of the payment provider's events in NATS.
const (
	PaymentsStream  = "SLUICE_PAYMENTS"
	paymentsSubject = "sluice.payments"
	paymentsDurable = "payments" // shared by all workers
)

const (
	defaultPaymentsAge   = 7 * 24 * time.Hour
	defaultPaymentsBytes = 2 << 30  // five million events of some 400 bytes
	maxPaymentBytes      = 16 << 10 // of one event; its fields have less
	maxPaymentsPending   = 4096     // delivered and not yet acknowledged
	paymentsKnown        = 2 * time.Minute
)

// ensurePayments creates the stream of payment events, or gives an existing one this
// configuration. It removes no event but those that are older than a lower age.
func (q *Queue) ensurePayments(ctx context.Context, cfg StreamConfig) error {
	age, bytes := defaultPaymentsAge, int64(defaultPaymentsBytes)
	stream, err := q.js.Stream(ctx, PaymentsStream)
	switch {
	case err == nil:
		info := stream.CachedInfo()
		age, bytes = info.Config.MaxAge, info.Config.MaxBytes
		if cfg.PaymentsMaxBytes != 0 && uint64(cfg.PaymentsMaxBytes) < info.State.Bytes {
			return fmt.Errorf("cannot configure stream %s: %w: %d bytes, the cap would be %d", PaymentsStream, ErrCap, info.State.Bytes, cfg.PaymentsMaxBytes)
		}
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("cannot configure stream %s: %w", PaymentsStream, err)
	}
	err = q.put(ctx, jetstream.StreamConfig{
		Name:        PaymentsStream,
		Description: "payment events, verified: the inbox that answers the provider",
		Subjects:    []string{paymentsSubject},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy, // applied ones stay: they are replayed into a database that lost them
		Discard:     jetstream.DiscardNew,   // refuse, never drop
		MaxAge:      cmp.Or(cfg.PaymentsMaxAge, age),
		MaxBytes:    cmp.Or(cfg.PaymentsMaxBytes, bytes),
		Replicas:    cfg.Replicas,
		MaxMsgSize:  maxPaymentBytes,
		Duplicates:  min(paymentsKnown, cmp.Or(cfg.PaymentsMaxAge, age)),
	}, err == nil)
	if err != nil {
		return fmt.Errorf("cannot create stream %s: %w", PaymentsStream, err)
	}
	return nil
}

// PaymentsReady reports whether the stream of payment events is there.
func (q *Queue) PaymentsReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if _, err := q.js.Stream(ctx, PaymentsStream); err != nil {
		return fmt.Errorf("cannot find stream %s: %w", PaymentsStream, err)
	}
	return nil
}

func encodePayment(e sale.PaymentEvent) (*nats.Msg, error) {
	if _, err := e.Validate(); err != nil {
		return nil, fmt.Errorf("cannot encode payment event: %w", err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("cannot encode payment event: %w", err)
	}
	return &nats.Msg{Subject: paymentsSubject, Header: nats.Header{headerSchema: {schemaVersion}}, Data: data}, nil
}

func decodePayment(header nats.Header, data []byte) (sale.PaymentEvent, error) {
	if v := header.Get(headerSchema); v != schemaVersion {
		return sale.PaymentEvent{}, fmt.Errorf("%w: schema version %q is not %s", ErrUnreadable, v, schemaVersion)
	}
	var e sale.PaymentEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return sale.PaymentEvent{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	e.OccurredAt = e.OccurredAt.UTC()
	if _, err := e.Validate(); err != nil {
		return sale.PaymentEvent{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return e, nil
}

// PublishPayment appends an event to the stream and returns once it is stored. It
// tries once. ctx needs a deadline.
//
// Unlike a hand-over, the message carries an id, the event's: a repetition within
// minutes is not stored, whatever it says, and first is then what was. So of two
// that workers might store at once in either order, the first is the one that was
// answered first. Later repetitions find the first in Postgres.
func (q *Queue) PublishPayment(ctx context.Context, e sale.PaymentEvent) (first *sale.PaymentEvent, err error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("cannot publish payment event: the context has no deadline")
	}
	msg, err := encodePayment(e)
	if err != nil {
		return nil, err
	}
	ack, err := q.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(PaymentsStream), jetstream.WithRetryAttempts(0), jetstream.WithMsgID(e.EventID))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot publish payment event: %w", err)
	case ack.Stream != PaymentsStream:
		return nil, fmt.Errorf("cannot publish payment event: stream %q took it", ack.Stream)
	case ack.Duplicate:
		return q.storedPayment(ctx, ack.Sequence)
	}
	return nil, nil
}

// storedPayment makes sure that what the stream knows an id of is there.
func (q *Queue) storedPayment(ctx context.Context, seq uint64) (*sale.PaymentEvent, error) {
	stream, err := q.js.Stream(ctx, PaymentsStream)
	if err != nil {
		return nil, fmt.Errorf("cannot find stream %s: %w", PaymentsStream, err)
	}
	msg, err := stream.GetMsg(ctx, seq)
	if err != nil {
		return nil, fmt.Errorf("cannot read payment event %d: %w", seq, err)
	}
	e, err := decodePayment(msg.Header, msg.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot read payment event %d: %w", seq, err)
	}
	return &e, nil
}

// PaymentDelivery is one event, delivered. It comes again, to whoever fetches next,
// unless Ack is called within the ack wait.
type PaymentDelivery struct {
	Event sale.PaymentEvent // zero when Err is set
	Err   error             // wraps ErrUnreadable when the message cannot be decoded
	Seq   uint64            // in the stream
	msg   jetstream.Msg
}

// Ack says that the event is kept elsewhere. It is sent, not awaited.
func (d PaymentDelivery) Ack() error {
	if err := d.msg.Ack(); err != nil {
		return fmt.Errorf("cannot acknowledge payment event %d: %w", d.Seq, err)
	}
	return nil
}

// NakAfter asks for the event again, once pause has passed.
func (d PaymentDelivery) NakAfter(pause time.Duration) error {
	if err := d.msg.NakWithDelay(pause); err != nil {
		return fmt.Errorf("cannot return payment event %d: %w", d.Seq, err)
	}
	return nil
}

// Payments delivers payment events. All processes share them.
type Payments struct {
	pull jetstream.Consumer
	conn *nats.Conn
}

// Payments opens the durable consumer of payment events, which it creates, from the
// stream's start, if there is none. Open it again after an error of Fetch: it may
// have been deleted for a replay.
func (q *Queue) Payments(ctx context.Context, ackWait time.Duration) (*Payments, error) {
	pull, err := q.js.CreateOrUpdateConsumer(ctx, PaymentsStream, jetstream.ConsumerConfig{
		Durable:       paymentsDurable,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxDeliver:    -1,
		MaxAckPending: maxPaymentsPending,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the consumer of payment events: %w", err)
	}
	return &Payments{pull: pull, conn: q.conn}, nil
}

// Fetch returns up to limit events, in the stream's order. It returns as soon as
// there are some, or when wait has passed.
func (p *Payments) Fetch(limit int, wait time.Duration) ([]PaymentDelivery, error) {
	if !p.conn.IsConnected() {
		return nil, nats.ErrDisconnected // a pull that cannot be sent would leave its subscription behind
	}
	deliveries, err := fetchPayments(p.pull.FetchNoWait(limit))
	if err == nil && len(deliveries) == 0 {
		deliveries, err = fetchPayments(p.pull.Fetch(1, jetstream.FetchMaxWait(wait)))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot fetch payment events: %w", err)
	}
	return deliveries, nil
}

func fetchPayments(batch jetstream.MessageBatch, err error) ([]PaymentDelivery, error) {
	if err != nil {
		return nil, err
	}
	var deliveries []PaymentDelivery
	for msg := range batch.Messages() {
		d := PaymentDelivery{msg: msg}
		if meta, err := msg.Metadata(); err == nil {
			d.Seq = meta.Sequence.Stream
		}
		d.Event, d.Err = decodePayment(msg.Headers(), msg.Data())
		deliveries = append(deliveries, d)
	}
	if err := batch.Error(); err != nil && len(deliveries) == 0 {
		return nil, err
	}
	return deliveries, nil
}
