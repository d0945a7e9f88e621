package jetqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

func (q *Queue) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.catalog != nil {
		return q.catalog, nil
	}
	catalog, err := q.js.KeyValue(ctx, BucketName)
	if err != nil {
		return nil, fmt.Errorf("cannot find bucket %s: %w", BucketName, err)
	}
	q.catalog = catalog
	return catalog, nil
}

// PutEntry announces e unless the catalogue has an entry of this sale that e is
// not newer than; changed says which. Writers may race: the newest wins.
func (q *Queue) PutEntry(ctx context.Context, e sale.Entry) (changed bool, err error) {
	if err := sale.ValidateID(e.ID); err != nil {
		return false, fmt.Errorf("cannot announce sale: %w", err)
	}
	catalog, err := q.bucket(ctx)
	if err != nil {
		return false, err
	}
	for {
		changed, err = putOnce(ctx, catalog, e)
		switch {
		case err == nil:
			return changed, nil
		case !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			return false, fmt.Errorf("cannot announce sale %s: %w", e.ID, err)
		case ctx.Err() != nil:
			return false, fmt.Errorf("cannot announce sale %s: %w", e.ID, ctx.Err())
		}
	}
}

// putOnce fails with ErrKeyExists or ErrKeyRevisionMismatch when another writer
// came in between.
func putOnce(ctx context.Context, catalog jetstream.KeyValue, e sale.Entry) (changed bool, err error) {
	value, err := json.Marshal(e)
	if err != nil {
		return false, err
	}
	stored, err := catalog.Get(ctx, e.ID)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		_, err = catalog.Create(ctx, e.ID, value)
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	current, err := decodeEntry(stored)
	if err != nil {
		return false, err
	}
	if !e.NewerThan(current) {
		return false, nil
	}
	_, err = catalog.Update(ctx, e.ID, value, stored.Revision())
	return err == nil, err
}

// Announced reads what the catalogue has of a sale; false when it has nothing.
func (q *Queue) Announced(ctx context.Context, saleID string) (sale.Entry, bool, error) {
	catalog, err := q.bucket(ctx)
	if err != nil {
		return sale.Entry{}, false, err
	}
	stored, err := catalog.Get(ctx, saleID)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return sale.Entry{}, false, nil
	}
	if err != nil {
		return sale.Entry{}, false, fmt.Errorf("cannot read sale %s from the catalogue: %w", saleID, err)
	}
	e, err := decodeEntry(stored)
	return e, err == nil, err
}

// Entries reads the whole catalogue, in no order.
func (q *Queue) Entries(ctx context.Context) ([]sale.Entry, error) {
	catalog, err := q.bucket(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := catalog.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the catalogue: %w", err)
	}
	entries := make([]sale.Entry, 0, len(keys))
	for _, key := range keys {
		stored, err := catalog.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read sale %s from the catalogue: %w", key, err)
		}
		e, err := decodeEntry(stored)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// decodeEntry accepts fields that it does not know: a newer warmup may have
// written them while older gateways still run.
func decodeEntry(stored jetstream.KeyValueEntry) (sale.Entry, error) {
	var e sale.Entry
	if err := json.Unmarshal(stored.Value(), &e); err != nil {
		return sale.Entry{}, fmt.Errorf("cannot read catalogue entry %q: %w", stored.Key(), err)
	}
	if e.ID != stored.Key() {
		return sale.Entry{}, fmt.Errorf("cannot read catalogue entry %q: it is of sale %q", stored.Key(), e.ID)
	}
	return e, nil
}
