package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// maxAckPending bounds the hand-overs of one sale that are delivered and not
// yet acknowledged, those set aside by NakAfter included.
const maxAckPending = 4096

// Consumer delivers the hand-overs of one sale. All consumers of a sale share
// its hand-overs, in all processes.
type Consumer struct {
	saleID string
	pull   jetstream.Consumer
	conn   *nats.Conn
}

// Delivery is one hand-over, delivered. It comes again, to whoever fetches
// next, unless Ack is called within the ack wait, which InProgress renews.
type Delivery struct {
	HandOver    sale.HandOver // zero when Err is set
	Err         error         // wraps ErrUnreadable when the message cannot be decoded
	Raw         Raw           // zero unless Err is set
	Seq         uint64        // in the stream
	Redelivered bool
	More        bool // never delivered yet, when this one was
	msg         jetstream.Msg
	conn        *nats.Conn
	connection  uint64 // of conn, counted by its reconnects
}

// errReconnected refuses to answer a delivery of an earlier connection: the server may have come back
// with an older copy of its store, or a new one, where the answer would be to another hand-over. It
// comes again, if it is there.
var errReconnected = errors.New("the connection was renewed since it was delivered")

// Raw is a message that cannot be decoded, as it came.
type Raw struct {
	Epoch  int64  // as its header says; 0 when that cannot be read either
	Header []byte // as NATS writes it, which nats.DecodeHeadersMsg reads
	Body   []byte
}

// Consumer opens the durable consumer of a sale, which it creates if need be.
// A hand-over is delivered again for as long as it takes.
func (q *Queue) Consumer(ctx context.Context, saleID string, ackWait time.Duration) (*Consumer, error) {
	if err := sale.ValidateID(saleID); err != nil {
		return nil, fmt.Errorf("cannot open consumer: %w", err)
	}
	pull, err := q.js.CreateOrUpdateConsumer(ctx, StreamName, jetstream.ConsumerConfig{
		Durable:       saleID,
		FilterSubject: ordersPrefix + saleID,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open consumer of sale %s: %w", saleID, err)
	}
	return &Consumer{saleID: saleID, pull: pull, conn: q.conn}, nil
}

// Fetch returns up to limit hand-overs, in the stream's order. It returns when it has
// them all or when wait has passed; with wait 0 it returns what is there now.
// Nothing is fetched ahead. When the server is gone it takes a second longer and
// returns nothing, without an error.
func (c *Consumer) Fetch(limit int, wait time.Duration) ([]Delivery, error) {
	connection := c.conn.Stats().Reconnects
	batch, err := c.request(limit, wait)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch hand-overs of sale %s: %w", c.saleID, err)
	}
	var deliveries []Delivery
	for msg := range batch.Messages() {
		d := newDelivery(msg)
		d.conn, d.connection = c.conn, connection
		deliveries = append(deliveries, d)
	}
	if err := batch.Error(); err != nil && len(deliveries) == 0 {
		return nil, fmt.Errorf("cannot fetch hand-overs of sale %s: %w", c.saleID, err)
	}
	return deliveries, nil
}

func (c *Consumer) request(limit int, wait time.Duration) (jetstream.MessageBatch, error) {
	if !c.conn.IsConnected() {
		// A pull that cannot be sent would leave its subscription behind.
		return nil, nats.ErrDisconnected
	}
	if wait <= 0 {
		return c.pull.FetchNoWait(limit)
	}
	return c.pull.Fetch(limit, jetstream.FetchMaxWait(wait))
}

func newDelivery(msg jetstream.Msg) Delivery {
	d := Delivery{msg: msg}
	if meta, err := msg.Metadata(); err == nil {
		d.Seq, d.Redelivered, d.More = meta.Sequence.Stream, meta.NumDelivered > 1, meta.NumPending > 0
	}
	d.HandOver, d.Err = Decode(msg.Headers(), msg.Subject(), msg.Data())
	if d.Err != nil {
		d.Raw = rawOf(msg)
	}
	return d
}

func rawOf(msg jetstream.Msg) Raw {
	raw := Raw{Header: wireHeader(msg.Headers()), Body: msg.Data()}
	if epoch, err := headerNumber(msg.Headers(), headerEpoch); err == nil {
		raw.Epoch = epoch
	}
	return raw
}

// wireHeader writes a header that came from the server, which has no line
// breaks in its names or values.
func wireHeader(header nats.Header) []byte {
	b := []byte("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b = append(b, name+": "+value+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// Ack says that the hand-over is done with. It is sent, not awaited: a lost one
// means a redelivery, which changes nothing.
func (d Delivery) Ack() error { return d.answer("acknowledge", d.msg.Ack) }

// NakAfter asks for the hand-over again, once pause has passed.
func (d Delivery) NakAfter(pause time.Duration) error {
	return d.answer("return", func() error { return d.msg.NakWithDelay(pause) })
}

// InProgress renews the ack wait.
func (d Delivery) InProgress() error { return d.answer("hold", d.msg.InProgress) }

func (d Delivery) answer(verb string, send func() error) error {
	err := errReconnected
	if d.conn.Stats().Reconnects == d.connection {
		err = send()
	}
	if err != nil {
		return fmt.Errorf("cannot %s hand-over %d: %w", verb, d.Seq, err)
	}
	return nil
}
