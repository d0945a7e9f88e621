package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/changes"
	"sluice/shared/sale"
)

type oneSale struct{}

func (oneSale) Entries(context.Context) ([]sale.Entry, error) {
	return []sale.Entry{{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Rev: 2}}, nil
}

// endless brings a list that never comes to its end.
type endless struct{}

func (endless) Entry(context.Context, sale.Entry) (changes.Brought, error) {
	return changes.Brought{Live: true, Unlisted: true}, nil
}

func (endless) AllowList(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestConvergence_AnAllowListThatTakesTooLongIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		c := NewConvergence(oneSale{}, endless{}, errors.New("locked"), slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), listWithin+time.Second)
		defer cancel()
		c.Run(ctx)
		if !strings.Contains(said.String(), "allow list not brought") {
			t.Errorf("after %v it says %q", listWithin, said.String())
		}
	})
}
