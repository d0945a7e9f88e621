package costs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/rig"
)

const (
	units     = 10_000_000 // of a sale that must not sell out
	lastSale  = "gone"     // has one unit
	patience  = 5 * time.Minute
	keptMost  = 5000 // tickets to poll
	userNames = "user-"
)

// site is a running stack that is measured.
type site struct {
	*run
	*rig.Rig
	size     int            // gateways, and as many workers
	next     int            // number of the next user
	others   int            // answers that were not wanted
	accepted map[string]int // 202 answers by sale

	mu      sync.Mutex
	bought  []purchase // of the first, so that they can try again and poll
	tickets int        // of those, that are known
}

// purchase is an attempt that was accepted.
type purchase struct {
	sale   string
	user   int
	ticket string
}

func (r *run) open(ctx context.Context, size int, dir string) (*site, error) {
	sales := []rig.Sale{{ID: lastSale, Total: 1}}
	for _, id := range r.ids() {
		sales = append(sales, rig.Sale{ID: id, Total: units})
	}
	started, err := rig.Open(ctx, rig.Config{Gateways: size, Workers: size, Sales: sales, Out: filepath.Join(r.Out, dir), Bin: r.Bin, Log: r.Log})
	if err != nil {
		return nil, err
	}
	return &site{run: r, Rig: started, size: size, accepted: make(map[string]int)}, nil
}

// ids are the sales that are sold in turn.
func (c Config) ids() []string {
	all := make([]string, c.Sales)
	for i := range all {
		all[i] = fmt.Sprintf("sale-%02d", i+1)
	}
	return all
}

// load is one over all gateways, with answers of one status.
func (t *site) load(connections, want int, request func(into []byte, i int) []byte) loop.Load {
	l := loop.Load{URL: t.Info.Gateways[0].URL, Connections: connections, Want: want, Request: request}
	for _, g := range t.Info.Gateways[1:] {
		l.Also = append(l.Also, g.URL)
	}
	return l
}

// send sends, and counts what was not wanted.
func (t *site) send(ctx context.Context, l loop.Load) (loop.Measurement, error) {
	m, err := l.Run(ctx)
	t.others += m.Unwanted
	return m, err
}

// attempt appends one of a user for a unit of a sale.
func (t *site) attempt(into []byte, saleID string, user int) []byte {
	into = append(into, "POST /v1/sales/"...)
	into = append(into, saleID...)
	into = append(into, "/orders HTTP/1.1\r\nHost: sluice\r\nContent-Length: 0\r\nAuthorization: Bearer "...)
	into = append(into, t.Tokens.Token(userNames+strconv.Itoa(user))...)
	return append(into, "\r\n\r\n"...)
}

// crowd is so many attempts of ever new users, over the sales in turn.
func (t *site) crowd(connections, attempts int) loop.Load {
	ids, from := t.ids(), t.next
	t.next += attempts + connections // as many numbers as may be taken
	l := t.load(connections, http.StatusAccepted, func(into []byte, i int) []byte { return t.attempt(into, ids[i%len(ids)], from+i) })
	l.Most, l.Measured = attempts, patience
	l.Answered = func(i int, body []byte) error { return t.keep(purchase{sale: ids[i%len(ids)], user: from + i}, body) }
	return l
}

// keep counts a purchase, and keeps its ticket if there are not enough yet.
func (t *site) keep(p purchase, body []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted[p.sale]++
	if t.size > 1 || len(t.bought) >= t.Attempts {
		return nil
	}
	if t.tickets < keptMost {
		var answer struct{ Ticket string }
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("cannot read ticket: %w", err)
		}
		p.ticket = answer.Ticket
		t.tickets++
	}
	t.bought = append(t.bought, p)
	return nil
}

// settle waits until every reservation has its outcome.
func (t *site) settle(ctx context.Context) error { return t.Settle(ctx, t.ids()...) }

// judge holds the settled orders against the answers.
func (t *site) judge(ctx context.Context) error {
	violations, err := t.Judge(ctx, t.accepted, t.others, t.ids()...)
	for _, v := range violations {
		t.rep.Fail(v.Invariant, "%d gateways: %s", t.size, v.Detail)
	}
	return err
}
