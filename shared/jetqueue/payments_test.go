package jetqueue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

func paymentEvent(n int) sale.PaymentEvent {
	return sale.PaymentEvent{
		EventID: fmt.Sprintf("event-%d", n), Type: sale.RefundSucceeded, OrderID: reservation(n).RID, AmountMinor: 199900, Currency: "CNY",
		OccurredAt: time.Date(2026, 12, 1, 2, 0, 0, 123456789, time.UTC), Restock: n%2 == 0,
	}
}

// ownQueue has a server of its own: there is one stream of payments a server.
func ownQueue(t *testing.T) *Queue {
	t.Helper()
	q := connect(t, ownServer(t).URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	return q
}

func openPayments(t *testing.T, q *Queue) *Payments {
	t.Helper()
	p, err := q.Payments(testContext(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fetchPayment(t *testing.T, p *Payments, want int) []PaymentDelivery {
	t.Helper()
	var all []PaymentDelivery
	eventually(t, fmt.Sprintf("%d events are delivered", want), func() bool {
		some, err := p.Fetch(100, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
		return len(all) >= want
	})
	return all
}

func TestPayments_ArriveAsPublishedOnceAcknowledgedAndAreReplayedFromTheStart(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	for n := range 3 {
		if first, err := q.PublishPayment(testContext(t), paymentEvent(n)); err != nil || first != nil {
			t.Fatal(first, err)
		}
	}
	p := openPayments(t, q)
	for i, d := range fetchPayment(t, p, 3) {
		if diff := cmp.Diff(paymentEvent(i), d.Event); diff != "" || d.Err != nil || d.Seq != uint64(i+1) {
			t.Errorf("event %d (-published +delivered): %v\n%s", d.Seq, d.Err, diff)
		}
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	if again, err := p.Fetch(100, 50*time.Millisecond); err != nil || len(again) != 0 {
		t.Errorf("%d events once more, error %v", len(again), err)
	}
	if err := q.js.DeleteConsumer(testContext(t), PaymentsStream, paymentsDurable); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Fetch(100, 50*time.Millisecond); err == nil {
		t.Error("a consumer that is gone tells nobody")
	}
	fetchPayment(t, openPayments(t, q), 3)
}

func TestPayments_RepeatedOneIsNotStoredAndTheFirstIsTold(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	other := paymentEvent(1)
	other.AmountMinor = 1
	for i, e := range []sale.PaymentEvent{paymentEvent(1), paymentEvent(1), other} {
		first, err := q.PublishPayment(testContext(t), e)
		if err != nil || (first == nil) != (i == 0) || first != nil && *first != paymentEvent(1) {
			t.Errorf("%d: %+v, error %v", i, first, err)
		}
	}
	if all := fetchPayment(t, openPayments(t, q), 1); len(all) != 1 || all[0].Event != paymentEvent(1) {
		t.Errorf("stored: %+v", all)
	}
}

func TestPayments_WaitingFetchEndsWithItsConsumer(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	p := openPayments(t, q)
	ended := make(chan error, 1)
	go func() {
		_, err := p.Fetch(1, testPatience)
		ended <- err
	}()
	eventually(t, "the fetch waits", func() bool {
		info, err := p.pull.Info(testContext(t))
		return err == nil && info.NumWaiting > 0
	})
	if err := q.js.DeleteConsumer(testContext(t), PaymentsStream, paymentsDurable); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("no error")
	}
}

func TestPayments_UnreadableOnesAreTold(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	for _, data := range []string{"", "{}", `{"event_id":1}`} {
		_, err := q.js.PublishMsg(testContext(t), &nats.Msg{Subject: paymentsSubject, Header: nats.Header{headerSchema: {schemaVersion}}, Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.js.Publish(testContext(t), paymentsSubject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for _, d := range fetchPayment(t, openPayments(t, q), 4) {
		if !errors.Is(d.Err, ErrUnreadable) {
			t.Errorf("event %d: %v", d.Seq, d.Err)
		}
	}
	if _, err := q.PublishPayment(testContext(t), sale.PaymentEvent{}); err == nil {
		t.Error("an event that is none is published")
	}
	if _, err := q.PublishPayment(t.Context(), paymentEvent(1)); err == nil {
		t.Error("published without a deadline")
	}
}

func TestPayments_StreamKeepsWhatItHasAndRefusesWhenFull(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	configure := func(c StreamConfig) error { return q.Ensure(testContext(t), c) }
	if err := configure(StreamConfig{PaymentsMaxAge: 24 * time.Hour, PaymentsMaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := configure(StreamConfig{}); err != nil {
		t.Fatal(err)
	}
	stream, err := q.js.Stream(testContext(t), PaymentsStream)
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.MaxAge != 24*time.Hour || c.MaxBytes != 1<<20 {
		t.Errorf("the stream keeps %v and %d bytes", c.MaxAge, c.MaxBytes)
	}
	n := 0
	for ; err == nil && n < 1<<20; n++ {
		_, err = q.PublishPayment(testContext(t), paymentEvent(n))
	}
	if err == nil || n < 1000 {
		t.Errorf("%d events in 1 MiB, error %v", n, err)
	}
	if err := configure(StreamConfig{PaymentsMaxBytes: 1000}); !errors.Is(err, ErrCap) {
		t.Errorf("a cap below what is stored: %v", err)
	}
}

func TestPayments_StreamThatIsGoneIsMadeAnewWithItsCaps(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	if err := q.Ensure(testContext(t), StreamConfig{PaymentsMaxAge: 24 * time.Hour, PaymentsMaxBytes: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	standing(t, q)
	if err := q.js.DeleteStream(testContext(t), PaymentsStream); err != nil {
		t.Fatal(err)
	}
	standing(t, q)
	stream, err := q.js.Stream(testContext(t), PaymentsStream)
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.MaxAge != 24*time.Hour || c.MaxBytes != 2<<20 {
		t.Errorf("the stream keeps %v and %d bytes", c.MaxAge, c.MaxBytes)
	}
	if _, err := q.PublishPayment(testContext(t), paymentEvent(1)); err != nil {
		t.Error(err)
	}
	fetchPayment(t, openPayments(t, q), 1)
}
