package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Standing tells one incarnation of the stream and the bucket from another.
type Standing struct {
	Incarnation string // differs once the stream or the bucket was made anew
	LastSeq     uint64 // of the stream; it goes back only when an older copy was put in its place
}

// Upkeep makes the streams and the bucket again if they are gone, with the caps that
// the streams had when this process last saw them, and returns how the stream of
// hand-overs and the bucket stand. What was in
// them is for others to bring back. An existing one is never changed.
func (q *Queue) Upkeep(ctx context.Context) (Standing, error) {
	stream, err := q.keepStream(ctx)
	if err != nil {
		return Standing{}, fmt.Errorf("cannot keep stream %s: %w", StreamName, err)
	}
	bucket, err := q.keepBucket(ctx, stream.Config.Replicas)
	if err != nil {
		return Standing{}, fmt.Errorf("cannot keep bucket %s: %w", BucketName, err)
	}
	if err := q.keepPayments(ctx, stream.Config.Replicas); err != nil {
		return Standing{}, err
	}
	return Standing{
		Incarnation: stream.Created.UTC().Format(time.RFC3339Nano) + " " + bucket.Created.UTC().Format(time.RFC3339Nano),
		LastSeq:     stream.State.LastSeq,
	}, nil
}

func (q *Queue) keepStream(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		cfg := q.configSeen()
		q.log.Error("stream is gone and made anew", "stream", StreamName, "max_bytes", cfg.MaxBytes,
			"max_messages_per_sale", cfg.MaxMessagesPerSale, "replicas", cfg.Replicas)
		stream, err = q.js.CreateStream(ctx, cfg.stream())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another worker was first
			stream, err = q.js.Stream(ctx, StreamName)
		}
	}
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = configOf(info)
	return info, nil
}

func (q *Queue) configSeen() StreamConfig {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen.over(defaults())
}

// keepPayments makes an empty stream: what was not in Postgres yet is lost with the old
// one, unless the provider sends it again.
func (q *Queue) keepPayments(ctx context.Context, replicas int) error {
	stream, err := q.js.Stream(ctx, PaymentsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		q.mu.Lock()
		cfg := q.paymentsSeen
		q.mu.Unlock()
		cfg.Replicas = replicas
		q.log.Error("stream is gone and made anew", "stream", PaymentsStream)
		return q.ensurePayments(ctx, cfg)
	}
	if err != nil {
		return fmt.Errorf("cannot keep stream %s: %w", PaymentsStream, err)
	}
	c := stream.CachedInfo().Config
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paymentsSeen = StreamConfig{PaymentsMaxAge: c.MaxAge, PaymentsMaxBytes: c.MaxBytes}
	return nil
}

// keepBucket also forgets the handle that this process had of one that is gone.
func (q *Queue) keepBucket(ctx context.Context, replicas int) (*jetstream.StreamInfo, error) {
	catalog, err := q.js.KeyValue(ctx, BucketName)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		q.log.Error("bucket is gone and made anew", "bucket", BucketName)
		catalog, err = q.js.CreateKeyValue(ctx, catalogueConfig(replicas))
		if errors.Is(err, jetstream.ErrBucketExists) {
			catalog, err = q.js.KeyValue(ctx, BucketName)
		}
	}
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	q.catalog = catalog
	q.mu.Unlock()
	status, err := catalog.Status(ctx)
	if err != nil {
		return nil, err
	}
	bucket, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return nil, fmt.Errorf("its status is a %T", status)
	}
	return bucket.StreamInfo(), nil
}
