package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Of the stream that keeps the bucket.
const (
	bucketStream  = "KV_" + BucketName
	entriesPrefix = "$KV." + BucketName + "."
)

// Idle reports whether every hand-over of a sale that the stream holds is
// acknowledged.
func (q *Queue) Idle(ctx context.Context, saleID string) (bool, error) {
	info, err := q.consumerInfo(ctx, saleID)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		last, err := q.LastSequence(ctx, saleID)
		return last == 0, err
	}
	if err != nil {
		return false, err
	}
	return info.NumPending == 0 && info.NumAckPending == 0, nil
}

// Clear removes the consumer and the hand-overs of a sale. Repeated, it changes
// nothing.
func (q *Queue) Clear(ctx context.Context, saleID string) error {
	err := q.js.DeleteConsumer(ctx, StreamName, saleID)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("cannot delete the consumer of sale %s: %w", saleID, err)
	}
	return q.Purge(ctx, saleID, 0)
}

// RemoveEntry takes a sale out of the catalogue without a trace. Who watches is not
// told: a retired entry comes first, and whoever has seen it forgets the sale by
// itself.
func (q *Queue) RemoveEntry(ctx context.Context, saleID string) error {
	return q.purge(ctx, bucketStream, entriesPrefix+saleID)
}

func (q *Queue) purge(ctx context.Context, streamName, subject string, options ...jetstream.StreamPurgeOpt) error {
	stream, err := q.js.Stream(ctx, streamName)
	if err != nil {
		return fmt.Errorf("cannot find stream %s: %w", streamName, err)
	}
	if err := stream.Purge(ctx, append(options, jetstream.WithPurgeSubject(subject))...); err != nil {
		return fmt.Errorf("cannot purge %s: %w", subject, err)
	}
	return nil
}

// Known lists the sales of which the stream has messages or a consumer, or the
// catalogue an entry. One may be listed more than once.
func (q *Queue) Known(ctx context.Context) ([]string, error) {
	var known []string
	for _, of := range []struct{ stream, prefix string }{{StreamName, ordersPrefix}, {bucketStream, entriesPrefix}} {
		stream, err := q.js.Stream(ctx, of.stream)
		if err != nil {
			return nil, fmt.Errorf("cannot find stream %s: %w", of.stream, err)
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(of.prefix+"*"))
		if err != nil {
			return nil, fmt.Errorf("cannot list the sales of stream %s: %w", of.stream, err)
		}
		for subject := range info.State.Subjects {
			known = append(known, strings.TrimPrefix(subject, of.prefix))
		}
		if of.stream != StreamName {
			continue
		}
		names := stream.ConsumerNames(ctx)
		for name := range names.Name() {
			known = append(known, name)
		}
		if err := names.Err(); err != nil {
			return nil, fmt.Errorf("cannot list the consumers of stream %s: %w", of.stream, err)
		}
	}
	return known, nil
}
