package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func entry(saleID string, epoch, rev int64) sale.Entry {
	return sale.Entry{Sale: sale.Sale{ID: saleID, Kind: sale.KindGoods, Total: 10, PerUserLimit: 1}, Epoch: epoch, Rev: rev}
}

func mustPut(t testing.TB, q *Queue, e sale.Entry) bool {
	t.Helper()
	changed, err := q.PutEntry(testContext(t), e)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func storedEntry(t testing.TB, q *Queue, saleID string) sale.Entry {
	t.Helper()
	entries, err := q.Entries(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.ID == saleID {
			return e
		}
	}
	t.Fatalf("sale %s is not in the catalogue", saleID)
	return sale.Entry{}
}

func TestPutEntry_OnlyNewerReplaces(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	for _, step := range []struct {
		epoch, rev int64
		changed    bool
	}{{2, 5, true}, {2, 5, false}, {2, 4, false}, {1, 9, false}, {2, 6, true}, {3, 1, true}, {2, 7, false}} {
		if got := mustPut(t, q, entry(id, step.epoch, step.rev)); got != step.changed {
			t.Errorf("(%d, %d): changed %t, want %t", step.epoch, step.rev, got, step.changed)
		}
	}
	if diff := cmp.Diff(entry(id, 3, 1), storedEntry(t, q, id)); diff != "" {
		t.Fatal(diff)
	}
}

func TestPutEntry_RefusesAnInvalidID(t *testing.T) {
	t.Parallel()
	if _, err := openQueue(t).PutEntry(testContext(t), entry("a.b", 1, 1)); err == nil {
		t.Fatal("announced")
	}
}

// TestPutEntry_RacingWriters lets several writers announce in any order. No
// watcher may ever see the sale go back, and the newest must stand at the end.
func TestPutEntry_RacingWriters(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	const writers, revs = 4, 25
	seen := startWatch(t, q)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for _, rev := range rand.Perm(revs) {
				if _, err := q.PutEntry(testContext(t), entry(id, 1, int64(rev+1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if got := storedEntry(t, q, id); got.Rev != revs {
		t.Fatalf("rev %d stands, want %d", got.Rev, revs)
	}
	eventually(t, "the watcher sees the newest", func() bool { return seen.last(id).Rev == revs })
	revsSeen := seen.of(id)
	for i := 1; i < len(revsSeen); i++ {
		if !revsSeen[i].NewerThan(revsSeen[i-1]) {
			t.Fatalf("rev %d came after %d", revsSeen[i].Rev, revsSeen[i-1].Rev)
		}
	}
}

// watched records what a Watch delivers.
type watched struct {
	mu       sync.Mutex
	entries  []sale.Entry
	replayed int
	atReplay int // entries that had come when replayed was called
}

func startWatch(t testing.TB, q *Queue) *watched {
	t.Helper()
	w := &watched{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Watch(ctx, w.add, w.replay) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("watch ended with %v", err)
		}
	})
	eventually(t, "the catalogue is replayed", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.replayed > 0 })
	return w
}

func (w *watched) add(e sale.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
}

func (w *watched) replay() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replayed++
	w.atReplay = len(w.entries)
}

func (w *watched) of(saleID string) (list []sale.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		if e.ID == saleID {
			list = append(list, e)
		}
	}
	return list
}

func (w *watched) last(saleID string) sale.Entry {
	list := w.of(saleID)
	if len(list) == 0 {
		return sale.Entry{}
	}
	return list[len(list)-1]
}

func TestWatch_ReplaysThenFollows(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		mustPut(t, q, entry(fmt.Sprintf("sale-%d", i), 1, 1))
	}
	w := startWatch(t, q)
	if w.atReplay != 5 {
		t.Fatalf("%d entries had come at the replay's end, want 5", w.atReplay)
	}
	mustPut(t, q, entry("sale-3", 1, 2))
	mustPut(t, q, entry("new", 1, 1))
	eventually(t, "changes are followed", func() bool { return w.last("sale-3").Rev == 2 && w.last("new").Rev == 1 })
}

func TestWatch_EmptyCatalogueIsReplayed(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	startWatch(t, q)
}

// TestWatch_StartsBeforeTheBucket: a gateway may be up before the first warm-up.
func TestWatch_StartsBeforeTheBucket(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Watch(ctx, func(sale.Entry) {}, func() { close(ready) }) }()
	if err := connect(t, server.URL()).Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case <-testContext(t).Done():
		t.Error("not replayed after the bucket appeared")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("watch ended with %v", err)
	}
}

func TestWatch_SurvivesServerRestart(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	mustPut(t, q, entry("phone", 1, 1))
	w := startWatch(t, q)
	for round := int64(2); round <= 3; round++ {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		writer := connect(t, server.URL())
		eventually(t, "the catalogue takes writes again", func() bool {
			_, err := writer.PutEntry(testContext(t), entry("phone", 1, round))
			return err == nil
		})
		eventually(t, "the change is seen", func() bool { return w.last("phone").Rev == round })
	}
	if got := len(w.of("phone")); got != 3 {
		t.Errorf("%d calls for three revisions", got)
	}
	if w.replayed != 1 {
		t.Errorf("replayed was called %d times", w.replayed)
	}
}
