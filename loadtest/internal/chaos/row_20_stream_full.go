package chaos

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/jetqueue"
	"sluice/shared/sale"
)

// streamFull: a stream that is full refuses, and drops nothing.
func streamFull() Row {
	return Row{
		ID: "20", Name: "stream-full", Bound: 20 * time.Second,
		Fault:  "the cap on hand-overs of a sale is reached and raised, then the cap on the bytes of the stream",
		Expect: "503 with the ticket, never 202; what is listed is handed over once there is room",
		Run: func(ctx context.Context, r *Round) (err error) {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			usual, err := r.stores.Queue.Usage(ctx)
			if err != nil {
				return err
			}
			// What the runbook says of a stream that is full.
			makeRoom := func(ctx context.Context) error {
				return r.limitStream(ctx, usual.MaxBytes, usual.MaxMessagesPerSale)
			}
			defer func() { err = errors.Join(err, makeRoom(context.WithoutCancel(ctx))) }()
			if err := r.meetFull(ctx, "the sale's cap on hand-overs", r.fillSale, makeRoom); err != nil {
				return err
			}
			return r.meetFull(ctx, "the stream's cap on bytes", r.fillStream, makeRoom)
		},
	}
}

// meetFull has attempts meet a stream that is full until there is room.
func (r *Round) meetFull(ctx context.Context, limit string, fill, makeRoom func(context.Context) error) error {
	r.inject()
	if err := fill(ctx); err != nil {
		return err
	}
	n, err := r.refused(ctx, 100)
	if err != nil {
		return err
	}
	r.hit(int(n), "%d attempts met %s", n, limit)
	if err := makeRoom(ctx); err != nil {
		return err
	}
	r.heal()
	return r.recovered(ctx)
}

func (r *Round) limitStream(ctx context.Context, bytes, messages int64) error {
	return r.stack.Warmup(ctx, "migrate", "-stream-max-bytes", strconv.FormatInt(bytes, 10), "-stream-max-messages", strconv.FormatInt(messages, 10))
}

// fillSale lowers the cap to some more than any sale has, and waits until the load has
// filled that up.
func (r *Round) fillSale(ctx context.Context) error {
	usage, err := r.purged(ctx)
	if err != nil {
		return err
	}
	most := 0
	for _, n := range usage.Messages {
		most = max(most, n)
	}
	if err := r.limitStream(ctx, usage.MaxBytes, int64(most+killRate)); err != nil { // the load goes on meanwhile
		return err
	}
	var failed error
	err = r.until(ctx, hitPatience, "the sale is full", func() bool {
		usage, failed = r.stores.Queue.Usage(ctx)
		return failed != nil || usage.Messages[r.saleID] >= most+killRate
	})
	return errors.Join(failed, err)
}

// purged removes what other rounds have left in the stream, as workers would once it is old
// enough, and returns how full it is.
func (r *Round) purged(ctx context.Context) (jetqueue.Usage, error) {
	usage, err := r.stores.Queue.Usage(ctx)
	if err != nil {
		return usage, err
	}
	for id := range usage.Messages {
		if id == r.saleID {
			continue
		}
		if _, err := r.stores.Queue.PurgeAcknowledged(ctx, id, time.Now()); err != nil {
			return usage, err
		}
	}
	return r.stores.Queue.Usage(ctx)
}

const (
	leastBytes  = 1 << 20 // the lowest cap that the stream can be given
	mostRepeats = 1000    // more than fill it
)

// fillStream lowers the cap, and repeats hand-overs until not even the smallest fits. A
// stream that takes more than fits is found by those who are answered 202 then.
func (r *Round) fillStream(ctx context.Context) error {
	usage, err := r.stores.Queue.Usage(ctx)
	if err != nil {
		return err
	}
	e, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	known, err := r.handedOver(ctx)
	if err != nil {
		return err
	}
	if err := r.limitStream(ctx, max(usage.Bytes+leastBytes/4, leastBytes), usage.MaxMessagesPerSale); err != nil {
		return err
	}
	// The first buyers' numbers are the shortest, so no hand-over is smaller than the first.
	for size, times := min(len(known), sale.MaxHandOver), 0; size > 0 && times < mostRepeats; times++ {
		switch err := r.handOver(ctx, e, known[:size]); {
		case err == nil:
		case isFull(err):
			size /= 2
		default:
			return err
		}
	}
	return nil
}

// isFull reports whether the stream says that it has no room.
func isFull(err error) bool {
	const storeFailed = 10077
	refusal, ok := errors.AsType[*jetstream.APIError](err)
	return ok && refusal.ErrorCode == storeFailed
}
