// Package merchants knows merchants by their API keys.
//
// Keys are few, so all that are good are kept in memory, read again when they are asked
// for and older than a second:
//
//	a key is shown ──► read within the last second? ──yes──► known: admitted, else ErrUnknown
//	                          │no
//	                          └──► one reads, the others wait ──► a fault: nobody is admitted
//
// Trust: a revoked key is good for a second more at most, and no key is good while the
// rows cannot be read. Whoever tries keys costs no query of their own.
package merchants

import (
	"context"
	"errors"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// ErrUnknown is the refusal of a key that is malformed, unknown or revoked.
var ErrUnknown = errors.New("unknown merchant key")

// fresh is how long what was read is believed, and how long a fault is not met again.
const fresh = time.Second

// Rows are the keys that are kept.
type Rows interface {
	// LiveMerchantKeys returns the keys that are good.
	LiveMerchantKeys(ctx context.Context) ([]sale.MerchantKey, error)
}

// Keys admits merchants. It is safe for concurrent use.
type Keys struct {
	rows Rows
	now  func() time.Time
	turn chan struct{} // holds one: whoever has it may read and change what follows

	known  map[string]sale.MerchantKey // by id
	fault  error                       // of the last reading
	readAt time.Time
}

// New knows the keys of rows.
func New(rows Rows, now func() time.Time) *Keys {
	return &Keys{rows: rows, now: now, turn: make(chan struct{}, 1)}
}

// Admit returns the key that was shown. ErrUnknown; every other error is a fault.
func (k *Keys) Admit(ctx context.Context, shown string) (sale.MerchantKey, error) {
	key, err := auth.ParseMerchantKey(shown)
	if err != nil {
		return sale.MerchantKey{}, ErrUnknown
	}
	kept, err := k.find(ctx, key.ID)
	switch {
	case err != nil:
		return sale.MerchantKey{}, err
	case !key.Is(kept):
		return sale.MerchantKey{}, ErrUnknown
	default:
		return kept, nil
	}
}

// find returns the key with the id as of a second ago at most; the zero one if there is none.
func (k *Keys) find(ctx context.Context, id string) (sale.MerchantKey, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return sale.MerchantKey{}, ctx.Err()
	}
	defer func() { <-k.turn }()
	if k.readAt.IsZero() || k.now().Sub(k.readAt) >= fresh {
		k.read(ctx)
	}
	return k.known[id], k.fault
}

// read takes what the rows are now. What it reads is as of its beginning.
func (k *Keys) read(ctx context.Context) {
	k.readAt = k.now()
	keys, err := k.rows.LiveMerchantKeys(ctx)
	if err != nil {
		if ctx.Err() != nil { // who asked has gone: that says nothing of the rows
			k.readAt = time.Time{}
		}
		k.known, k.fault = nil, err
		return
	}
	k.known, k.fault = make(map[string]sale.MerchantKey, len(keys)), nil
	for _, key := range keys {
		k.known[key.ID] = key
	}
}
