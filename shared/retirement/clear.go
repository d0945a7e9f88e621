package retirement

import (
	"context"
	"errors"

	"sluice/shared/sale"
)

func isStale(err error) bool { return errors.Is(err, sale.ErrStale) }

// Clear removes a retired sale from Redis and from the stream. The catalogue keeps
// saying that it is retired, for as long as somebody may not have heard.
func (r *Retirement) Clear(ctx context.Context, e sale.Entry) error {
	return r.locked(ctx, e.ID, func() error {
		// Workers that hear of it stop pulling, so that none makes the consumer anew.
		if _, err := r.Stream.PutEntry(ctx, e); err != nil {
			return err
		}
		if err := r.remove(ctx, e); err != nil {
			return err
		}
		if err := r.Hit(Cleared); err != nil {
			return err
		}
		return r.Rows.MarkCleared(ctx, e.ID)
	})
}

// Forget removes a cleared sale from the catalogue. It clears once more: a worker
// that had not heard may have made the consumer again.
func (r *Retirement) Forget(ctx context.Context, e sale.Entry) error {
	return r.locked(ctx, e.ID, func() error {
		if err := r.remove(ctx, e); err != nil {
			return err
		}
		if err := r.Stream.RemoveEntry(ctx, e.ID); err != nil {
			return err
		}
		return r.Rows.MarkForgotten(ctx, e.ID)
	})
}

func (r *Retirement) remove(ctx context.Context, e sale.Entry) error {
	if err := r.Stock.Clear(ctx, e.ID, e.Epoch); err != nil {
		return err
	}
	return r.Stream.Clear(ctx, e.ID)
}

func (r *Retirement) locked(ctx context.Context, saleID string, do func() error) error {
	unlock, err := r.Rows.LockSale(ctx, saleID)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
