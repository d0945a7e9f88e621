package growth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
)

const (
	fillPatience = 5 * time.Minute
	fillTries    = 20
	fillRest     = time.Second // before another try: the stores may be behind
)

// tooMany is the part of a size's users by which there may be more when a measurement begins.
const tooMany = 0.2

// have lets the users of the setting, if it is one of users, buy in one sale, with their
// orders made. What a measurement has added to them is more users: if there are too many,
// the next begins in a sale of its own.
func (t *site) have(ctx context.Context, sale int, f figures) error {
	n := t.setting.users
	if n == 0 {
		return nil
	}
	if float64(t.bought()) > float64(n)*(1+tooMany) || sale == 0 {
		t.selling = t.setting.ids()[sale : sale+1]
	}
	if err := t.fill(ctx, n); err != nil {
		return err
	}
	f[t.setting.figure(hadBought)] = float64(t.bought())
	return nil
}

// fill lets users buy until n have, with their orders made.
func (t *site) fill(ctx context.Context, n int) (err error) {
	resume, err := t.halt(ctx)
	if err == nil {
		err = t.queue(ctx, max(0, n-t.bought()))
	}
	if err := errors.Join(err, resume()); err != nil {
		return err
	}
	return t.settle(ctx)
}

// bought is how many attempts were answered 202 in the sales that are sold.
func (t *site) bought() (n int) {
	for _, id := range t.selling {
		n += t.accepted[id]
	}
	return n
}

// queue has n attempts accepted. For one that is answered otherwise, another user comes.
func (t *site) queue(ctx context.Context, n int) error {
	want := t.bought() + n
	for try := 0; t.bought() < want; try++ {
		if try == fillTries {
			return fmt.Errorf("cannot have %d attempts accepted: %d were", want, t.bought())
		}
		l := t.demand()
		l.Most, l.Measured = want-t.bought(), fillPatience
		m, err := l.Run(ctx)
		if err != nil && !errors.Is(err, loop.ErrNoneWanted) {
			return err
		}
		t.sent(m)
		if m.Unwanted > 0 && !wait.For(ctx, fillRest) {
			return ctx.Err()
		}
	}
	return nil
}
