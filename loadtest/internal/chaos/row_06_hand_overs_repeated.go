package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// handOversRepeated: a message is not an order, however often it comes.
func handOversRepeated() Row {
	const times = 100
	return Row{
		ID: "6", Name: "hand-overs-repeated", Bound: 30 * time.Second,
		Fault:  fmt.Sprintf("every hand-over so far is published %d times more", times),
		Expect: "one order each; the stock moves once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate/4); err != nil {
				return err
			}
			before, err := r.known(ctx)
			if err != nil {
				return err
			}
			r.inject()
			n, err := r.repeat(ctx, times)
			if err != nil {
				return err
			}
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			now, err := r.known(ctx)
			r.hit(int(now-before), "%d hand-overs were published again, and workers were brought %.0f reservations that had their orders", n, now-before)
			if least := float64(n / times); now-before < least {
				r.fail("scenario", "workers knew %.0f of the reservations that were repeated, of at least %.0f", now-before, least)
			}
			return err
		},
	}
}

const (
	streamName = "SLUICE_ORDERS"
	callWithin = 10 * time.Second // of one call to JetStream
)

// subject is where the sale's hand-overs are.
func (r *Round) subject() string { return "sluice.orders." + r.saleID }

// repeat publishes the hand-overs that the stream has of the sale so many times, as they
// are, and returns how many messages that were.
func (r *Round) repeat(ctx context.Context, times int) (published int, err error) {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return 0, err
	}
	defer hangUp()
	messages, err := r.handOvers(ctx, js)
	if err != nil {
		return 0, err
	}
	for range times {
		for _, m := range messages {
			if _, err := js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
				return published, fmt.Errorf("cannot publish a hand-over again: %w", err)
			}
			published++
		}
		select {
		case <-js.PublishAsyncComplete():
		case <-time.After(callWithin):
			return published, errors.New("cannot publish hand-overs again: JetStream does not acknowledge")
		}
	}
	return published, nil
}

// jetStream is a connection to JetStream of the round's own, and what ends it.
func (r *Round) jetStream() (js jetstream.JetStream, hangUp func(), err error) {
	connection, err := nats.Connect(r.stack.Info().NATS.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to nats: %w", err)
	}
	if js, err = jetstream.New(connection); err != nil {
		connection.Close()
		return nil, nil, fmt.Errorf("cannot use jetstream: %w", err)
	}
	return js, connection.Close, nil
}

// handOvers are those that the stream has of the sale now.
func (r *Round) handOvers(ctx context.Context, js jetstream.JetStream) (all []*jetstream.RawStreamMsg, err error) {
	opening, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	stream, err := js.Stream(opening, streamName)
	if err != nil {
		return nil, fmt.Errorf("cannot open stream: %w", err)
	}
	for seq := uint64(1); ; {
		reading, cancel := context.WithTimeout(ctx, callWithin) // each: there may be thousands
		m, err := stream.GetMsg(reading, seq, jetstream.WithGetMsgSubject(r.subject()))
		cancel()
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read hand-over: %w", err)
		}
		all, seq = append(all, m), m.Sequence+1
	}
}
