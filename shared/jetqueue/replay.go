package jetqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

const (
	replayIdle  = 10 * time.Second // how long the server keeps what a replay leaves behind
	replayStall = 5 * time.Second  // without a message that is there: it may be gone since, and will never come
)

// HandOvers calls visit with every hand-over of a sale that the stream holds
// and held before the call, acknowledged ones included, in order. err is set,
// and the hand-over zero, for one that cannot be decoded. It stops at visit's
// first error and returns it.
func (q *Queue) HandOvers(ctx context.Context, saleID string, visit func(seq uint64, h sale.HandOver, err error) error) error {
	err := q.eachMessage(ctx, StreamName, ordersPrefix+saleID, func(seq uint64, msg jetstream.Msg) error {
		h, err := Decode(msg.Headers(), msg.Subject(), msg.Data())
		return visit(seq, h, err)
	})
	if err != nil {
		return fmt.Errorf("cannot replay sale %s: %w", saleID, err)
	}
	return nil
}

// EachPayment is HandOvers for the payment events of all sales.
func (q *Queue) EachPayment(ctx context.Context, visit func(e sale.PaymentEvent, err error) error) error {
	err := q.eachMessage(ctx, PaymentsStream, paymentsSubject, func(_ uint64, msg jetstream.Msg) error {
		e, err := decodePayment(msg.Headers(), msg.Data())
		return visit(e, err)
	})
	if err != nil {
		return fmt.Errorf("cannot replay payment events: %w", err)
	}
	return nil
}

// eachMessage visits what a stream held under a subject before the call.
func (q *Queue) eachMessage(ctx context.Context, stream, subject string, visit func(seq uint64, msg jetstream.Msg) error) error {
	last, err := q.lastSequence(ctx, stream, subject)
	if err != nil || last == 0 {
		return err
	}
	consumer, err := q.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, InactiveThreshold: replayIdle})
	if err != nil {
		return err
	}
	defer q.endReplay(stream, consumer)
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for seq := uint64(0); seq < last; {
		msg, err := next(ctx, messages)
		if err != nil {
			return fmt.Errorf("after message %d: %w", seq, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("after message %d: %w", seq, err)
		}
		seq = meta.Sequence.Stream
		if err := visit(seq, msg); err != nil {
			return err
		}
	}
	return nil
}

// next waits for a message, for as long as one that is there may take.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, replayStall)
	defer cancel()
	return messages.Next(jetstream.NextContext(ctx))
}

// endReplay removes what a replay leaves behind in the server, which would do it by
// itself only after replayIdle.
func (q *Queue) endReplay(stream string, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	if info := consumer.CachedInfo(); info != nil {
		_ = q.js.DeleteConsumer(ctx, stream, info.Name)
	}
}
