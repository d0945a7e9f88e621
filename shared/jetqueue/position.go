package jetqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// LastSequence is that of a sale's last hand-over, 0 when the stream has none.
func (q *Queue) LastSequence(ctx context.Context, saleID string) (uint64, error) {
	last, err := q.lastSequence(ctx, StreamName, ordersPrefix+saleID)
	if err != nil {
		return 0, fmt.Errorf("cannot read the last hand-over of sale %s: %w", saleID, err)
	}
	return last, nil
}

func (q *Queue) lastSequence(ctx context.Context, name, subject string) (uint64, error) {
	stream, err := q.js.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("cannot find stream %s: %w", name, err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return msg.Sequence, nil
}

// Acknowledged reports whether the consumer of a sale has acknowledged
// everything up to a sequence. It fails when there is no consumer yet.
func (q *Queue) Acknowledged(ctx context.Context, saleID string, sequence uint64) (bool, error) {
	consumer, err := q.js.Consumer(ctx, StreamName, saleID)
	if err != nil {
		return false, fmt.Errorf("cannot read the consumer of sale %s: %w", saleID, err)
	}
	info := consumer.CachedInfo() // as of that call
	// In a stream that was lost and made anew the floor starts over.
	idle := info.NumPending == 0 && info.NumAckPending == 0
	return idle || info.AckFloor.Stream >= sequence, nil
}
