package fulfil

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOwed_AHungSaleDoesNotKeepTheOthersWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var done []string
		start := time.Now()
		o := newOwed(debt[string]{
			name: "rows", every: time.Second, page: 10,
			read: func(context.Context, int, []string) ([]string, error) { return []string{"a", "hung", "b", "c"}, nil },
			key:  func(saleID string) saleEpoch { return saleEpoch{saleID, 1} },
			apply: func(ctx context.Context, key saleEpoch, _ []string) ([]string, error) {
				if key.saleID == "hung" {
					time.Sleep(callTimeout)
					return nil, errFault
				}
				mu.Lock()
				defer mu.Unlock()
				if time.Since(start) == 0 {
					done = append(done, key.saleID)
				}
				return nil, nil
			},
		}, slog.New(slog.DiscardHandler))
		if err := o.round(t.Context()); err == nil {
			t.Error("the fault is not told")
		}
		slices.Sort(done)
		if !slices.Equal(done, []string{"a", "b", "c"}) {
			t.Errorf("applied at once: %v", done)
		}
	})
}
