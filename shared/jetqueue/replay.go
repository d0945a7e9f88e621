package jetqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// replayIdle is how long the server keeps what a replay leaves behind.
const replayIdle = 10 * time.Second

// HandOvers calls visit with every hand-over of a sale that the stream holds
// and held before the call, acknowledged ones included, in order. err is set,
// and the hand-over zero, for one that cannot be decoded. It stops at visit's
// first error and returns it.
func (q *Queue) HandOvers(ctx context.Context, saleID string, visit func(seq uint64, h sale.HandOver, err error) error) error {
	subject := ordersPrefix + saleID
	last, err := q.LastSequence(ctx, saleID)
	if err != nil || last == 0 {
		return err
	}
	consumer, err := q.js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, InactiveThreshold: replayIdle})
	if err != nil {
		return fmt.Errorf("cannot replay sale %s: %w", saleID, err)
	}
	defer q.endReplay(consumer)
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

// endReplay removes what a replay leaves behind in the server, which would do it by
// itself only after replayIdle.
func (q *Queue) endReplay(consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	if info := consumer.CachedInfo(); info != nil {
		_ = q.js.DeleteConsumer(ctx, StreamName, info.Name)
	}
}
