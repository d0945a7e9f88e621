package jetqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// Names in NATS.
const (
	StreamName = "SLUICE_ORDERS"
	BucketName = "SLUICE_SALES"

	ordersPrefix    = "sluice.orders."
	resultsPrefix   = "sluice.results."
	progressPrefix  = "sluice.progress."
	snapshotsPrefix = "sluice.snapshots."
)

// StreamConfig bounds the streams of hand-overs and of payment events. A zero field
// keeps what a stream has, or takes the default when there is no stream yet.
type StreamConfig struct {
	MaxBytes           int64         // of all hand-overs together; default 1 GiB
	MaxMessagesPerSale int64         // default 1,000,000
	Replicas           int           // of everything, 1 or 3; default 1
	PaymentsMaxAge     time.Duration // how long payment events can be replayed; default 7 days
	PaymentsMaxBytes   int64         // of all payment events together; default 2 GiB
}

const (
	defaultMaxBytes    = 1 << 30
	defaultMaxMessages = 1_000_000
	defaultReplicas    = 1
)

// ErrCap says that a cap would be below what is stored: the server would delete
// hand-overs to meet it.
var ErrCap = errors.New("cap is below what is stored")

// Ensure creates the streams and the bucket, or gives existing ones this
// configuration. It never removes a message.
func (q *Queue) Ensure(ctx context.Context, cfg StreamConfig) error {
	cfg, found, err := q.settle(ctx, cfg)
	if err != nil {
		return fmt.Errorf("cannot configure stream %s: %w", StreamName, err)
	}
	if err := q.put(ctx, cfg.stream(), found); err != nil {
		return fmt.Errorf("cannot create stream %s: %w", StreamName, err)
	}
	if err := q.ensurePayments(ctx, cfg); err != nil {
		return err
	}
	if _, err := q.js.CreateOrUpdateStream(ctx, catalogueConfig(cfg.Replicas)); err != nil {
		return fmt.Errorf("cannot create bucket %s: %w", BucketName, err)
	}
	return nil
}

// put updates a stream that was found, and else creates it: one that a cluster has not found,
// though it has it, must not be given the caps of a new one, to which the server would cut it.
func (q *Queue) put(ctx context.Context, cfg jetstream.StreamConfig, found bool) (err error) {
	if found {
		_, err = q.js.UpdateStream(ctx, cfg)
	} else {
		_, err = q.js.CreateStream(ctx, cfg)
	}
	return err
}

// stream is the whole configuration; cfg must be complete.
func (cfg StreamConfig) stream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 StreamName,
		Description:          "hand-overs: reservations on their way to an order",
		Subjects:             []string{ordersPrefix + "*"},
		Storage:              jetstream.FileStorage,
		Retention:            jetstream.LimitsPolicy, // acknowledged ones stay: lost commits are replayed from them
		Discard:              jetstream.DiscardNew,   // refuse, never drop
		DiscardNewPerSubject: true,
		MaxBytes:             cfg.MaxBytes,
		MaxMsgsPerSubject:    cfg.MaxMessagesPerSale,
		Replicas:             cfg.Replicas,
	}
}

// catalogueConfig is what a bucket is in JetStream. With replicas, only the leader is read:
// any of them would answer direct gets, one that has not heard of the last entries, too.
func catalogueConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              bucketStream,
		Description:       "the catalogue: one entry a sale",
		Subjects:          []string{entriesPrefix + ">"},
		Storage:           jetstream.FileStorage,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Discard:           jetstream.DiscardNew,
		Duplicates:        2 * time.Minute,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       replicas == 1,
		Replicas:          replicas,
	}
}

// settle fills in what cfg leaves open and refuses caps below what is stored: a
// server that is given a lower cap a subject deletes the oldest messages, handed
// over or not, though it discards new ones otherwise.
// found is false when there is no stream yet.
func (q *Queue) settle(ctx context.Context, cfg StreamConfig) (_ StreamConfig, found bool, err error) {
	has := defaults()
	stream, err := q.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return cfg.over(has), false, nil
	}
	if err != nil {
		return cfg, false, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(ordersPrefix+"*"))
	if err != nil {
		return cfg, false, err
	}
	cfg = cfg.over(configOf(info))
	for subject, count := range info.State.Subjects {
		if uint64(cfg.MaxMessagesPerSale) < count {
			return cfg, true, fmt.Errorf("%w: %s has %d hand-overs, the cap would be %d", ErrCap, subject, count, cfg.MaxMessagesPerSale)
		}
	}
	if uint64(cfg.MaxBytes) < info.State.Bytes {
		return cfg, true, fmt.Errorf("%w: %d bytes, the cap would be %d", ErrCap, info.State.Bytes, cfg.MaxBytes)
	}
	return cfg, true, nil
}

func defaults() StreamConfig {
	return StreamConfig{MaxBytes: defaultMaxBytes, MaxMessagesPerSale: defaultMaxMessages, Replicas: defaultReplicas}
}

func configOf(info *jetstream.StreamInfo) StreamConfig {
	c := info.Config
	return StreamConfig{MaxBytes: c.MaxBytes, MaxMessagesPerSale: c.MaxMsgsPerSubject, Replicas: c.Replicas}
}

// over lays what cfg says over what there is.
func (cfg StreamConfig) over(has StreamConfig) StreamConfig {
	return StreamConfig{
		MaxBytes:           cmp.Or(cfg.MaxBytes, has.MaxBytes),
		MaxMessagesPerSale: cmp.Or(cfg.MaxMessagesPerSale, has.MaxMessagesPerSale),
		Replicas:           cmp.Or(cfg.Replicas, has.Replicas),
		PaymentsMaxAge:     cfg.PaymentsMaxAge,
		PaymentsMaxBytes:   cfg.PaymentsMaxBytes,
	}
}

// saleOfSubject reads the sale from a subject that begins with prefix.
func saleOfSubject(prefix, subject string) (string, error) {
	id, found := strings.CutPrefix(subject, prefix)
	if !found {
		return "", fmt.Errorf("subject %q does not begin with %s", subject, prefix)
	}
	return id, sale.ValidateID(id)
}
