package jetqueue

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

// left counts a sale's hand-overs in the stream.
func left(t *testing.T, q *Queue, saleID string) int {
	t.Helper()
	u, err := q.Usage(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return u.Messages[saleID]
}

func TestPurgeAcknowledged_OnlyWhatIsAcknowledgedAndOld(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	id, other := newSaleID(), newSaleID()
	purge := func(before time.Time) int {
		t.Helper()
		n, err := q.PurgeAcknowledged(testContext(t), id, before)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const n = 20
	for i := range n {
		mustPublish(t, q, handOver(id, i+1, 1))
		mustPublish(t, q, handOver(other, i+1, 1)) // in between, so that sequences have gaps
	}
	future := time.Now().Add(time.Hour)
	if purged := purge(future); purged != 0 {
		t.Errorf("%d purged without a consumer", purged)
	}
	c, err := q.Consumer(testContext(t), id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Fetch(n, time.Second)
	if err != nil || len(got) != n {
		t.Fatalf("%d fetched, %v", len(got), err)
	}
	if purged := purge(future); purged != 0 {
		t.Errorf("%d purged that are in hand", purged)
	}
	for i, d := range got {
		if i != 7 && i < 15 { // one in the middle is not acknowledged: the floor is before it
			if err := d.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the floor is reached", func() bool {
		ok, err := q.Acknowledged(testContext(t), id, got[6].Seq)
		return err == nil && ok
	})
	if purged := purge(time.Now().Add(-time.Hour)); purged != 0 || left(t, q, id) != n {
		t.Errorf("%d young ones purged, %d left", purged, left(t, q, id))
	}
	if purged := purge(future); purged != 7 || left(t, q, id) != n-7 {
		t.Errorf("%d purged, %d left", purged, left(t, q, id))
	}
	for _, d := range append(got[7:8:8], got[15:]...) {
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is acknowledged", func() bool { return idle(t, q, id) })
	last := mustLast(t, q, id)
	if purged := purge(future); purged != n-8 || left(t, q, id) != 1 {
		t.Errorf("%d purged, %d left", purged, left(t, q, id))
	}
	if again := purge(future); again != 0 || mustLast(t, q, id) != last {
		t.Errorf("%d purged again, the last one is %d, was %d", again, mustLast(t, q, id), last)
	}
	if left(t, q, other) != n {
		t.Errorf("another sale has %d left", left(t, q, other))
	}
}

func TestPurgeAcknowledged_StopsAtTheHorizon(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	id := newSaleID()
	c, err := q.Consumer(testContext(t), id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const each = 13
	var horizon time.Time
	for i := range 2 * each {
		if i == each {
			horizon = time.Now()
			time.Sleep(2 * time.Millisecond) // the server's clock is this one
		}
		mustPublish(t, q, handOver(id, i+1, 1))
	}
	got, err := c.Fetch(2*each, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is acknowledged", func() bool { return idle(t, q, id) })
	if n, err := q.PurgeAcknowledged(testContext(t), id, horizon); n != each || err != nil || left(t, q, id) != each {
		t.Errorf("%d purged, %d left, %v", n, left(t, q, id), err)
	}
}

func mustLast(t *testing.T, q *Queue, saleID string) uint64 {
	t.Helper()
	seq, err := q.LastSequence(testContext(t), saleID)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestMostBytes_CoversWhatHandOversTake(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	long := func(n int, c byte) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = c
		}
		return string(text)
	}
	id := long(64, 's')
	h := handOver(id, 1, 1)
	h.PriceMinor = 1<<63 - 1
	h.Reservations[0].UserID, h.Reservations[0].Key, h.Reservations[0].Slot, h.Reservations[0].Rank = long(128, 'u'), long(64, 'k'), 20, 100_000_000
	mustPublish(t, q, h)
	u, err := q.Usage(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if most := MostBytes(1, 1_000_000); u.Bytes > most {
		t.Errorf("one hand-over takes %d bytes, more than the %d that are counted for a unit", u.Bytes, most)
	}
	full := handOver(id, 1, sale.MaxHandOver)
	for i := range full.Reservations {
		full.Reservations[i].UserID, full.Reservations[i].Key = long(128, 'u'), long(64, 'k')
	}
	mustPublish(t, q, full)
	after, err := q.Usage(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if most := MostBytes(sale.MaxHandOver, 1); after.Bytes-u.Bytes > most {
		t.Errorf("a full hand-over takes %d bytes, more than %d", after.Bytes-u.Bytes, most)
	}
}
