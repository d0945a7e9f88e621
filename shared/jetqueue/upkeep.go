package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Standing tells one incarnation of the streams and the bucket from another.
type Standing struct {
	Incarnation string // differs once a stream or the bucket was made anew
	LastSeq     uint64 // of the hand-overs; it goes back only when an older copy was put in their place
}

// Upkeep makes the streams and the bucket again if they are gone, with the caps that
// the streams had when this process last saw them, and returns how they stand. What was
// in them is for others to bring back. An existing one is never changed. In a cluster only
// an answer that stays the same counts, see absence.
func (q *Queue) Upkeep(ctx context.Context) (Standing, error) {
	stream, err := q.keepStream(ctx)
	if err != nil {
		return Standing{}, fmt.Errorf("cannot keep stream %s: %w", StreamName, err)
	}
	bucket, err := q.keepBucket(ctx, stream.Config.Replicas)
	if err != nil {
		return Standing{}, fmt.Errorf("cannot keep bucket %s: %w", BucketName, err)
	}
	payments, err := q.keepPayments(ctx, stream.Config.Replicas)
	if err != nil {
		return Standing{}, fmt.Errorf("cannot keep stream %s: %w", PaymentsStream, err)
	}
	return Standing{Incarnation: madeOf(stream, bucket, payments), LastSeq: stream.State.LastSeq}, nil
}

func madeOf(streams ...*jetstream.StreamInfo) string {
	made := make([]string, len(streams))
	for i, s := range streams {
		made[i] = s.Created.UTC().Format(time.RFC3339Nano)
	}
	return strings.Join(made, " ")
}

func (q *Queue) keepStream(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if q.isGone(StreamName, err) {
		cfg := q.configSeen()
		stream, err = q.js.CreateStream(ctx, cfg.stream())
		switch {
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another worker was first
			stream, err = q.js.Stream(ctx, StreamName)
		case err == nil:
			q.log.Error("stream was gone and is made anew", "stream", StreamName, "max_bytes", cfg.MaxBytes,
				"max_messages_per_sale", cfg.MaxMessagesPerSale, "replicas", cfg.Replicas)
		}
	}
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	if err := led(info.Cluster); err != nil {
		return nil, err
	}
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
func (q *Queue) keepPayments(ctx context.Context, replicas int) (*jetstream.StreamInfo, error) {
	stream, err := q.js.Stream(ctx, PaymentsStream)
	if q.isGone(PaymentsStream, err) {
		q.mu.Lock()
		cfg := q.paymentsSeen
		q.mu.Unlock()
		cfg.Replicas = replicas
		if err := q.ensurePayments(ctx, cfg); err != nil {
			return nil, err
		}
		q.log.Error("stream was gone and is made anew", "stream", PaymentsStream)
		stream, err = q.js.Stream(ctx, PaymentsStream)
	}
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paymentsSeen = StreamConfig{PaymentsMaxAge: info.Config.MaxAge, PaymentsMaxBytes: info.Config.MaxBytes}
	return info, nil
}

// keepBucket also forgets the handle that this process had of one that is gone.
func (q *Queue) keepBucket(ctx context.Context, replicas int) (*jetstream.StreamInfo, error) {
	catalog, err := q.js.KeyValue(ctx, BucketName)
	if q.isGone(bucketStream, err) {
		_, err = q.js.CreateStream(ctx, catalogueConfig(replicas))
		switch {
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another worker was first
		case err != nil:
			return nil, err
		default:
			q.log.Error("bucket was gone and is made anew", "bucket", BucketName)
		}
		catalog, err = q.js.KeyValue(ctx, BucketName)
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
