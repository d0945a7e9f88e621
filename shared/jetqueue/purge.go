package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// Purge removes those hand-overs of a sale that come before a sequence; 0 is all.
func (q *Queue) Purge(ctx context.Context, saleID string, before uint64) error {
	if before == 0 {
		return q.purge(ctx, StreamName, ordersPrefix+saleID)
	}
	return q.purge(ctx, StreamName, ordersPrefix+saleID, jetstream.WithPurgeSequence(before))
}

// PurgeAcknowledged removes the hand-overs of a sale that are acknowledged and were
// stored before a moment: no replay will ask for them. It always keeps the last one,
// so that LastSequence goes on to say how far the sale is. It returns how many it
// removed.
func (q *Queue) PurgeAcknowledged(ctx context.Context, saleID string, before time.Time) (purged int, err error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if err != nil {
		return 0, fmt.Errorf("cannot find stream %s: %w", StreamName, err)
	}
	upTo, err := q.purgeable(ctx, stream, saleID, before)
	if err != nil || upTo == 0 {
		return 0, err
	}
	held, err := q.messages(ctx, stream, saleID)
	if err != nil {
		return 0, err
	}
	if err := q.Purge(ctx, saleID, upTo); err != nil {
		return 0, err
	}
	left, err := q.messages(ctx, stream, saleID)
	return max(held-left, 0), err
}

// purgeable is the sequence before which everything may go, 0 when nothing may.
func (q *Queue) purgeable(ctx context.Context, stream jetstream.Stream, saleID string, before time.Time) (uint64, error) {
	subject := ordersPrefix + saleID
	info, err := q.consumerInfo(ctx, saleID)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil // nothing is acknowledged
	}
	if err != nil {
		return 0, err
	}
	last, err := q.LastSequence(ctx, saleID)
	if err != nil {
		return 0, err
	}
	// Whether the next message from a sequence on must stay; none does too.
	stays := func(seq uint64) (at uint64, stays bool, err error) {
		msg, err := stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return seq, true, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("cannot read hand-over %d of sale %s: %w", seq, saleID, err)
		}
		return msg.Sequence, !msg.Time.Before(before), nil
	}
	low, stay, err := stays(1)
	if err != nil || stay {
		return 0, err
	}
	// Everything before low goes; from high on, everything stays.
	low++
	high := min(info.AckFloor.Stream+1, last)
	for low < high {
		middle := low + (high-low)/2
		at, stay, err := stays(middle)
		switch {
		case err != nil:
			return 0, err
		case stay:
			high = middle
		default:
			low = min(at+1, high)
		}
	}
	return min(low, high), nil
}

func (q *Queue) messages(ctx context.Context, stream jetstream.Stream, saleID string) (int, error) {
	subject := ordersPrefix + saleID
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, fmt.Errorf("cannot count the hand-overs of sale %s: %w", saleID, err)
	}
	return int(info.State.Subjects[subject]), nil
}

// Usage is how full the streams are. A cap of 0 or less is none.
type Usage struct {
	Bytes, MaxBytes                 int64          // of all hand-overs together
	Messages                        map[string]int // hand-overs, by sale
	MaxMessagesPerSale              int64
	PaymentsBytes, PaymentsMaxBytes int64 // of all payment events
}

// Usage reads how full the streams are.
func (q *Queue) Usage(ctx context.Context) (Usage, error) {
	stream, err := q.js.Stream(ctx, StreamName)
	if err != nil {
		return Usage{}, fmt.Errorf("cannot find stream %s: %w", StreamName, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(ordersPrefix+"*"))
	if err != nil {
		return Usage{}, fmt.Errorf("cannot read how full stream %s is: %w", StreamName, err)
	}
	u := Usage{
		Bytes: int64(info.State.Bytes), MaxBytes: info.Config.MaxBytes,
		MaxMessagesPerSale: info.Config.MaxMsgsPerSubject, Messages: make(map[string]int, len(info.State.Subjects)),
	}
	for subject, n := range info.State.Subjects {
		u.Messages[strings.TrimPrefix(subject, ordersPrefix)] = int(n)
	}
	payments, err := q.js.Stream(ctx, PaymentsStream)
	if err != nil {
		return Usage{}, fmt.Errorf("cannot read how full stream %s is: %w", PaymentsStream, err)
	}
	p := payments.CachedInfo()
	u.PaymentsBytes, u.PaymentsMaxBytes = int64(p.State.Bytes), p.Config.MaxBytes
	return u, nil
}

// What hand-overs take in the stream, at most, beside the characters that need
// escaping.
const (
	bytesOfHandOver    = 512 // subject, headers, what the server adds, the body's frame
	bytesOfReservation = 352 // a user id of 128 and a key of 64 characters, the rest of its JSON
)

// MostBytes is what the hand-overs of a sale can take at most: each of its units in a
// hand-over of its own, up to the cap on hand-overs a sale. What is sold again after a
// release comes on top; purging what is acknowledged makes room for that.
func MostBytes(units, maxMessages int64) int64 {
	messages := units
	if maxMessages > 0 {
		messages = min(units, maxMessages)
		units = min(units, sale.MaxHandOver*maxMessages)
	}
	return messages*bytesOfHandOver + units*bytesOfReservation
}
