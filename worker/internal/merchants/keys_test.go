package merchants

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// rows are keys in memory.
type rows struct {
	mu    sync.Mutex
	keys  []sale.MerchantKey
	err   error
	slow  time.Duration
	reads atomic.Int64
}

func (r *rows) LiveMerchantKeys(ctx context.Context) ([]sale.MerchantKey, error) {
	r.reads.Add(1)
	if r.slow > 0 {
		select {
		case <-time.After(r.slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys, r.err
}

func (r *rows) set(err error, keys ...sale.MerchantKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.err = keys, err
}

func expect(t *testing.T, k *Keys, when, shown string, want error) {
	t.Helper()
	key, err := k.Admit(t.Context(), shown)
	if !errors.Is(err, want) || (err == nil) != (key.Merchant == "acme") {
		t.Errorf("%s: %+v, %v, want %v", when, key, err, want)
	}
}

func TestAdmit_ARevokedKeyIsGoodForASecondAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown, kept := auth.NewMerchantKey("acme", []sale.Scope{sale.ScopeQuotes})
		r := &rows{}
		k := New(r, time.Now)
		expect(t, k, "before it is made", shown, ErrUnknown)
		r.set(nil, kept)
		time.Sleep(fresh)
		expect(t, k, "a second after it was made", shown, nil)
		r.set(nil)
		time.Sleep(fresh - 1)
		expect(t, k, "within a second of its end", shown, nil)
		time.Sleep(time.Nanosecond)
		expect(t, k, "a second later", shown, ErrUnknown)
	})
}

func TestAdmit_NobodyWhileTheRowsCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown, kept := auth.NewMerchantKey("acme", nil)
		broken := errors.New("postgres is away")
		r := &rows{}
		r.set(nil, kept)
		k := New(r, time.Now)
		expect(t, k, "at first", shown, nil)
		r.set(broken)
		time.Sleep(fresh)
		expect(t, k, "while they cannot be read", shown, broken)
		r.set(nil, kept)
		expect(t, k, "at once again", shown, broken)
		time.Sleep(fresh)
		expect(t, k, "when they can be read again", shown, nil)
		if n := r.reads.Load(); n != 3 {
			t.Errorf("%d readings, want 3", n)
		}
	})
}

func TestAdmit_ManyWhoTryKeysCostAReadingASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rows{slow: 10 * time.Millisecond}
		k := New(r, time.Now)
		stranger, _ := auth.NewMerchantKey("acme", nil)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 30 {
					expect(t, k, "a stranger", stranger, ErrUnknown)
					expect(t, k, "no key", "sk_x_y", ErrUnknown)
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		if n := r.reads.Load(); n < 3 || n > 4 {
			t.Errorf("%d readings in 3 s", n)
		}
	})
}

func TestAdmit_WhoGivesUpKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown, kept := auth.NewMerchantKey("acme", nil)
		r := &rows{slow: time.Minute}
		r.set(nil, kept)
		k := New(r, time.Now)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				if _, err := k.Admit(ctx, shown); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("who waited too long got %v", err)
				}
			})
		}
		waiting.Wait()
		expect(t, k, "the next one", shown, nil)
	})
}
