package jetqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// HandOvers calls visit with every hand-over of a sale that the stream holds
// and held before the call, acknowledged ones included, in order. err is set,
// and the hand-over zero, for one that cannot be decoded. It stops at visit's
// first error and returns it.
func (q *Queue) HandOvers(ctx context.Context, saleID string, visit func(seq uint64, h sale.HandOver, err error) error) error {
	subject := ordersPrefix + saleID
	last, err := q.lastSequence(ctx, subject)
	if err != nil || last == 0 {
		return err
	}
	consumer, err := q.js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	if err != nil {
		return fmt.Errorf("cannot replay sale %s: %w", saleID, err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("cannot replay sale %s: %w", saleID, err)
	}
	defer messages.Stop()
	for seq := uint64(0); seq < last; {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("cannot replay sale %s after message %d: %w", saleID, seq, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("cannot replay sale %s after message %d: %w", saleID, seq, err)
		}
		seq = meta.Sequence.Stream
		h, err := Decode(msg.Headers(), msg.Subject(), msg.Data())
		if err := visit(seq, h, err); err != nil {
			return err
		}
	}
	return nil
}

// lastSequence is that of the subject's last message, 0 when there is none.
func (q *Queue) lastSequence(ctx context.Context, subject string) (uint64, error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if err != nil {
		return 0, fmt.Errorf("cannot find stream %s: %w", StreamName, err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the last message of %s: %w", subject, err)
	}
	return msg.Sequence, nil
}
