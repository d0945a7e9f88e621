package jetqueue

import (
	"context"
	"errors"
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
	err := q.eachMessage(ctx, StreamName, ordersPrefix+saleID, 1, func(seq uint64, msg jetstream.Msg) error {
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
	err := q.eachMessage(ctx, PaymentsStream, paymentsSubject, 1, func(_ uint64, msg jetstream.Msg) error {
		e, err := decodePayment(msg.Headers(), msg.Data())
		return visit(e, err)
	})
	if err != nil {
		return fmt.Errorf("cannot replay payment events: %w", err)
	}
	return nil
}

// AcknowledgedPayments are the ids of the payment events that were acknowledged last, at most
// so many, of those up to which all were; none when there is no consumer. What cannot be decoded is left out.
func (q *Queue) AcknowledgedPayments(ctx context.Context, most int) (eventIDs []string, err error) {
	upTo, err := q.paymentsAcknowledgedUpTo(ctx)
	if err == nil && upTo > 0 {
		err = q.eachMessage(ctx, PaymentsStream, paymentsSubject, max(1, int64(upTo)-int64(most)+1), func(seq uint64, msg jetstream.Msg) error {
			e, unreadable := decodePayment(msg.Headers(), msg.Data())
			switch {
			case seq > upTo:
				return errEnough
			case unreadable == nil:
				eventIDs = append(eventIDs, e.EventID)
			}
			return nil
		})
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("cannot read the payment events that were acknowledged: %w", err)
	}
	return eventIDs, nil
}

// errEnough ends a replay.
var errEnough = errors.New("enough is read")

func (q *Queue) paymentsAcknowledgedUpTo(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	consumer, err := q.js.Consumer(ctx, PaymentsStream, paymentsDurable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	info := consumer.CachedInfo() // as of that call
	if err := led(info.Cluster); err != nil {
		return 0, err
	}
	return info.AckFloor.Stream, nil
}

// eachMessage visits what a stream held under a subject before the call, from a sequence on.
func (q *Queue) eachMessage(ctx context.Context, stream, subject string, from int64, visit func(seq uint64, msg jetstream.Msg) error) error {
	last, err := q.lastSequence(ctx, stream, subject)
	if err != nil || last < uint64(from) {
		return err
	}
	consumer, err := q.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, InactiveThreshold: replayIdle, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(from)})
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
