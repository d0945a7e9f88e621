package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sluice/shared/sale"
)

const (
	longPoll  = 25 * time.Second // the longest that a gateway lets a read wait
	cutAfter  = time.Second      // a read that fails later than this was held, and cut
	maxCuts   = 2                // in a row, after which reads no longer ask to wait
	maxFaults = 30               // in a row, after which a ticket is given up
)

// Await follows a ticket until it is no longer queued, or ctx ends. It lets the
// gateway hold its reads until there is news, and polls as told where that does
// not work. The error wraps a *Refusal when the ticket cannot be read at all.
func (c *Client) Await(ctx context.Context, t Ticket) (Ticket, error) {
	return c.Follow(ctx, t, func(Ticket, time.Duration) {})
}

// Follow is Await that calls seen with the ticket after every read, news or not,
// and with how long the read took. The ticket returned is the last one read, even
// beside an error.
func (c *Client) Follow(ctx context.Context, t Ticket, seen func(Ticket, time.Duration)) (Ticket, error) {
	var (
		pause        time.Duration
		last         error // of the reads since the last that worked
		faults, cuts int
	)
	if c.config.Polling {
		pause = t.pollAfter()
	}
	for t.Status == sale.StatusQueued || t.Status == "" {
		if err := sleep(ctx, pause); err != nil {
			return t, fmt.Errorf("cannot await ticket %s: %w", t.Ticket, errors.Join(err, last))
		}
		wait := c.waitWithin(ctx, cuts)
		asked := time.Now()
		read, err := c.ticket(ctx, t, wait)
		took := time.Since(asked)
		if err != nil {
			if faults++; !worthAgain(err) || faults == maxFaults {
				return t, fmt.Errorf("cannot await ticket %s: %w", t.Ticket, err)
			}
			if wait > 0 && took > cutAfter {
				cuts++
			}
			last, pause = err, pauseAfter(err, faults-1)
			continue
		}
		pause = nextRead(t, read, wait, took)
		faults, last, t = 0, nil, read
		if wait > 0 {
			cuts = 0
		}
		seen(t, took)
	}
	return t, nil
}

// nextRead is how long to wait after a read of a ticket that is still queued. A
// read that was held has waited already. One that was not, though nothing is new,
// met a gateway where too many wait: it is to be polled.
func nextRead(before, read Ticket, wait, took time.Duration) time.Duration {
	switch news := before.etag != "" && read.etag != before.etag; {
	case wait == 0:
		return max(firstWait, read.pollAfter())
	case news:
		return firstWait - took
	default:
		return max(firstWait, read.pollAfter()) - took
	}
}

// waitWithin is how long the next read may ask to be held: whole seconds, and over
// before ctx is.
func (c *Client) waitWithin(ctx context.Context, cuts int) time.Duration {
	if c.config.Polling || cuts >= maxCuts {
		return 0
	}
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, min(longPoll, time.Until(deadline).Truncate(time.Second)))
	}
	return longPoll
}

// ticket reads t again; with wait, once there is something that t does not say.
func (c *Client) ticket(ctx context.Context, t Ticket, wait time.Duration) (Ticket, error) {
	r := request{method: http.MethodGet, path: "/v1/tickets/" + url.PathEscape(t.Ticket), wait: wait}
	if wait > 0 {
		r.path += "?wait=" + strconv.Itoa(int(wait.Seconds()))
	}
	if t.etag != "" {
		r.header = map[string]string{"If-None-Match": t.etag}
	}
	a, err := c.call(ctx, r)
	if err != nil {
		return Ticket{}, err
	}
	if a.status == http.StatusNotModified {
		return t, nil
	}
	var read Ticket
	if err := a.into(&read); err != nil {
		return Ticket{}, err
	}
	read.etag = a.header.Get("ETag")
	return read, nil
}
