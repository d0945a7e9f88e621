package load

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// silentStream answers, or does not, for as long as each answer says.
type silentStream struct {
	stores
	answers func(since time.Duration) (done bool, err error)
	began   time.Time
}

func (s *silentStream) Acknowledged(context.Context, string, uint64) (bool, error) {
	return s.answers(time.Since(s.began))
}

var errSilent = errors.New("no answer")

func TestAwaitOrders_GivesUpWhenItSeesNothingAndNeverWhileItSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers func(since time.Duration) (bool, error)
		fails   bool
	}{
		"no answer at all":  {func(time.Duration) (bool, error) { return false, errSilent }, true},
		"an hour of orders": {func(since time.Duration) (bool, error) { return since > time.Hour, nil }, false},
		"no answer now and then": {func(since time.Duration) (bool, error) {
			if since.Truncate(blindFor)/blindFor%2 == 0 { // answered in between, each time
				return since > time.Hour, nil
			}
			return false, errSilent
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := Loader{Truth: &stores{}, Queue: &silentStream{answers: c.answers, began: time.Now()}, Log: slog.New(slog.DiscardHandler)}
				if err := l.awaitOrders(t.Context(), "phone", 7); errors.Is(err, errSilent) != c.fails || (err != nil) != c.fails {
					t.Errorf("error %v, want one: %t", err, c.fails)
				}
			})
		})
	}
}
