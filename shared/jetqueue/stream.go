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
	cfg, err := q.settle(ctx, cfg)
	if err != nil {
		return fmt.Errorf("cannot configure stream %s: %w", StreamName, err)
	}
	if _, err = q.js.CreateOrUpdateStream(ctx, cfg.stream()); err != nil {
		return fmt.Errorf("cannot create stream %s: %w", StreamName, err)
	}
	if err := q.ensurePayments(ctx, cfg); err != nil {
		return err
	}
	if _, err := q.js.CreateOrUpdateKeyValue(ctx, catalogueConfig(cfg.Replicas)); err != nil {
		return fmt.Errorf("cannot create bucket %s: %w", BucketName, err)
	}
	return nil
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

func catalogueConfig(replicas int) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket:      BucketName,
		Description: "the catalogue: one entry a sale",
		History:     1,
		Storage:     jetstream.FileStorage,
		Replicas:    replicas,
	}
}

// settle fills in what cfg leaves open and refuses caps below what is stored: a
// server that is given a lower cap a subject deletes the oldest messages, handed
// over or not, though it discards new ones otherwise.
func (q *Queue) settle(ctx context.Context, cfg StreamConfig) (StreamConfig, error) {
	has := defaults()
	stream, err := q.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return cfg.over(has), nil
	}
	if err != nil {
		return cfg, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(ordersPrefix+"*"))
	if err != nil {
		return cfg, err
	}
	cfg = cfg.over(configOf(info))
	for subject, count := range info.State.Subjects {
		if uint64(cfg.MaxMessagesPerSale) < count {
			return cfg, fmt.Errorf("%w: %s has %d hand-overs, the cap would be %d", ErrCap, subject, count, cfg.MaxMessagesPerSale)
		}
	}
	if uint64(cfg.MaxBytes) < info.State.Bytes {
		return cfg, fmt.Errorf("%w: %d bytes, the cap would be %d", ErrCap, info.State.Bytes, cfg.MaxBytes)
	}
	return cfg, nil
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
