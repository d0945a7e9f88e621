package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// Acknowledged reports whether the consumer of a sale has acknowledged everything up to
// a sequence, or everything that there is, when the stream was made anew or an older
// copy took its place. It fails when there is no consumer yet.
func (q *Queue) Acknowledged(ctx context.Context, saleID string, sequence uint64) (bool, error) {
	last, err := q.LastSequence(ctx, saleID)
	if err != nil {
		return false, err
	}
	info, err := q.consumerInfo(ctx, saleID)
	if err != nil {
		return false, err
	}
	return info.AckFloor.Stream >= min(sequence, last), nil
}

// consumerInfo is how the consumer of a sale stands, by its leader's word.
func (q *Queue) consumerInfo(ctx context.Context, saleID string) (*jetstream.ConsumerInfo, error) {
	consumer, err := q.js.Consumer(ctx, StreamName, saleID)
	if err != nil {
		return nil, fmt.Errorf("cannot read the consumer of sale %s: %w", saleID, err)
	}
	info := consumer.CachedInfo() // as of that call
	if err := led(info.Cluster); err != nil {
		return nil, fmt.Errorf("cannot read the consumer of sale %s: %w", saleID, err)
	}
	return info, nil
}

// AcknowledgedUpTo is the sequence up to which the consumer of a sale has acknowledged
// everything, 0 when there is no consumer.
func (q *Queue) AcknowledgedUpTo(ctx context.Context, saleID string) (uint64, error) {
	last, err := q.LastSequence(ctx, saleID)
	if err != nil || last == 0 {
		return 0, err
	}
	info, err := q.consumerInfo(ctx, saleID)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return min(last, info.AckFloor.Stream), nil
}

// OldestWaiting says since when the first hand-over of a sale waits that its consumer has
// not acknowledged, or the first of all when there is no consumer yet: when the earliest
// of its reservations was accepted, so that one which was handed over again stays as old
// as it is; when the server stored it, if it cannot be read. It is the zero time when
// nothing waits. The acknowledgement of one that waits may be under way.
func (q *Queue) OldestWaiting(ctx context.Context, saleID string) (time.Time, error) {
	first, err := q.firstWaiting(ctx, saleID)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read the oldest hand-over of sale %s: %w", saleID, err)
	}
	oldest := first.Time
	if h, err := Decode(first.Header, first.Subject, first.Data); err == nil {
		for _, r := range h.Reservations {
			if !r.AcceptedAt.IsZero() && r.AcceptedAt.Before(oldest) {
				oldest = r.AcceptedAt
			}
		}
	}
	return oldest, nil
}

func (q *Queue) firstWaiting(ctx context.Context, saleID string) (*jetstream.RawStreamMsg, error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if err != nil {
		return nil, err
	}
	floor := uint64(0)
	info, err := q.consumerInfo(ctx, saleID)
	switch {
	case err == nil:
		floor = info.AckFloor.Stream
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	}
	return stream.GetMsg(ctx, floor+1, jetstream.WithGetMsgSubject(ordersPrefix+saleID))
}
