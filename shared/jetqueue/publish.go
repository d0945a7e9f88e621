package jetqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// Publish hands h over and returns its sequence once the stream has stored it.
// It tries once. ctx needs a deadline. After an error the message may be stored
// all the same, unless the server's answer says that it is not.
//
// The message carries no id: under an id that the stream knows, a different
// message would be acknowledged and not stored. An acknowledgement that says
// duplicate is therefore a failure.
func (q *Queue) Publish(ctx context.Context, h sale.HandOver) (seq uint64, err error) {
	if _, ok := ctx.Deadline(); !ok {
		return 0, errors.New("cannot publish hand-over: the context has no deadline")
	}
	msg, err := Encode(h)
	if err != nil {
		return 0, err
	}
	ack, err := q.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(StreamName), jetstream.WithRetryAttempts(0))
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot publish hand-over of sale %s: %w", h.SaleID, err)
	case ack.Stream != StreamName:
		return 0, fmt.Errorf("cannot publish hand-over of sale %s: stream %q took it", h.SaleID, ack.Stream)
	case ack.Duplicate:
		return 0, fmt.Errorf("cannot publish hand-over of sale %s: the stream took it for a duplicate", h.SaleID)
	}
	return ack.Sequence, nil
}
