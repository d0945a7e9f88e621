package jetqueue

import (
	"context"
	"fmt"
	"strings"

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

// StreamConfig bounds the stream of hand-overs.
type StreamConfig struct {
	MaxBytes           int64 // of all hand-overs together
	MaxMessagesPerSale int64
	Replicas           int // 1 or 3
}

// Ensure creates the stream and the bucket, or gives existing ones this
// configuration. It never removes a message.
func (q *Queue) Ensure(ctx context.Context, cfg StreamConfig) error {
	_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
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
	})
	if err != nil {
		return fmt.Errorf("cannot create stream %s: %w", StreamName, err)
	}
	_, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket:      BucketName,
		Description: "the catalogue: one entry a sale",
		History:     1,
		Storage:     jetstream.FileStorage,
		Replicas:    cfg.Replicas,
	})
	if err != nil {
		return fmt.Errorf("cannot create bucket %s: %w", BucketName, err)
	}
	return nil
}

// saleOfSubject reads the sale from a subject that begins with prefix.
func saleOfSubject(prefix, subject string) (string, error) {
	id, found := strings.CutPrefix(subject, prefix)
	if !found {
		return "", fmt.Errorf("subject %q does not begin with %s", subject, prefix)
	}
	return id, sale.ValidateID(id)
}
