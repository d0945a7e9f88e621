package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

// Codes of a stream that refuses for lack of room.
const codeStoreFailed = jetstream.ErrorCode(10077)

func storedMessage(t testing.TB, q *Queue, seq uint64) *jetstream.RawStreamMsg {
	t.Helper()
	stream, err := q.js.Stream(testContext(t), StreamName)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(testContext(t), seq)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestPublish_StoresTheHandOverWithoutAMessageID(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	h := handOver(newSaleID(), 1, 3)
	first, second := mustPublish(t, q, h), mustPublish(t, q, h)
	if second <= first {
		t.Fatalf("sequences %d, %d do not rise: the repetition was not stored", first, second)
	}
	msg := storedMessage(t, q, second)
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		t.Errorf("message id %q", id)
	}
	got, err := Decode(msg.Header, msg.Subject, msg.Data)
	if err != nil || len(got.Reservations) != 3 {
		t.Fatalf("stored %+v, %v", got, err)
	}
}

func TestPublish_NeedsADeadline(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	if _, err := q.Publish(context.Background(), handOver(newSaleID(), 1, 1)); err == nil {
		t.Fatal("published without a deadline")
	}
}

func TestPublish_RefusesInvalid(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	if _, err := q.Publish(testContext(t), sale.HandOver{SaleID: newSaleID()}); err == nil {
		t.Fatal("published a hand-over without reservations")
	}
}

// TestPublish_AcknowledgementIsChecked answers in the stream's place.
func TestPublish_AcknowledgementIsChecked(t *testing.T) {
	t.Parallel()
	for name, ack := range map[string]string{
		"duplicate":    `{"stream":"SLUICE_ORDERS","seq":7,"duplicate":true}`,
		"other stream": `{"stream":"OTHER","seq":7}`,
		"no stream":    `{"seq":7}`,
		"error":        `{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}`,
		"not JSON":     `+OK`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := connect(t, ownServer(t).URL())
			h := handOver("phone", 1, 1)
			sub, err := q.conn.Subscribe(ordersPrefix+h.SaleID, func(m *nats.Msg) { _ = m.Respond([]byte(ack)) })
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sub.Unsubscribe() }()
			if seq, err := q.Publish(testContext(t), h); err == nil {
				t.Fatalf("took %s for stored at %d", ack, seq)
			}
		})
	}
}

func TestPublish_WithoutStreamFailsAtOnce(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	if _, err := q.Publish(testContext(t), handOver("phone", 1, 1)); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Fatalf("got %v", err)
	}
}

func wantRefusedForRoom(t testing.TB, err error) {
	t.Helper()
	var refusal *jetstream.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode != codeStoreFailed {
		t.Fatalf("got %v, want a refusal for lack of room", err)
	}
}

func TestPublish_FullSaleRefusesAndOthersGoOn(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	cfg := roomy()
	cfg.MaxMessagesPerSale = 3
	if err := q.Ensure(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	var first uint64
	for i := range 3 {
		seq := mustPublish(t, q, handOver("full", i+1, 1))
		if i == 0 {
			first = seq
		}
	}
	_, err := q.Publish(testContext(t), handOver("full", 4, 1))
	wantRefusedForRoom(t, err)
	storedMessage(t, q, first) // the oldest was not dropped
	mustPublish(t, q, handOver("other", 1, 1))

	purge(t, q, "full")
	mustPublish(t, q, handOver("full", 4, 1))
}

func TestPublish_FullStreamRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	cfg := roomy()
	cfg.MaxBytes = 256 << 10
	if err := q.Ensure(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = q.Publish(testContext(t), handOver(fmt.Sprintf("sale-%d", i%3), i*256+1, 256))
	}
	wantRefusedForRoom(t, err)
	purge(t, q, "sale-0")
	mustPublish(t, q, handOver("sale-1", 1, 256))
}

func purge(t testing.TB, q *Queue, saleID string) {
	t.Helper()
	stream, err := q.js.Stream(testContext(t), StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(testContext(t), jetstream.WithPurgeSubject(ordersPrefix+saleID)); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPublish hands over to a server that syncs every message before it acknowledges.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{1, 256} {
		b.Run(fmt.Sprintf("reservations-%d", size), func(b *testing.B) {
			q := openQueue(b)
			h := handOver(newSaleID(), 1, size)
			b.ReportAllocs()
			for b.Loop() {
				mustPublish(b, q, h)
			}
		})
	}
}
