package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// goods is a sale of the series.
type goods struct {
	id       string
	closesAt time.Time
	winners  record.Winners
	busy     sync.WaitGroup // attempts under way, tickets that are followed, payments that are to come
}

const (
	price         = 100              // minor units of CNY
	openWithin    = 45 * time.Second // whatever breaks: the longest fault, and the time in which everything goes on after it
	openPause     = time.Second
	auditTries    = 30
	auditPause    = 2 * time.Second
	auditPatience = openWithin // for a sale to come to rest, with nothing left to be done but by the workers
)

// sell opens a sale after the other, and has each audited once it is over.
func (r *run) sell(sending, ctx context.Context) {
	var audits sync.WaitGroup
	defer audits.Wait()
	for n := 1; sending.Err() == nil; n++ {
		next := time.Now().Add(saleEvery)
		g, err := r.open(sending, n)
		if err != nil && sending.Err() == nil {
			r.fail("I9", "sale %d is not sold everywhere %s after it was to be: %v", n, openWithin, err)
		}
		if g != nil {
			audits.Go(func() { r.close(ctx, g) })
		}
		wait.For(sending, time.Until(next))
	}
}

// open applies the n-th sale, and waits until every gateway sells it: every other one has
// units for all who come, the rest sell out. A store that is down is tried again. The sale
// is returned if it is there, also if it is not sold everywhere.
func (r *run) open(ctx context.Context, n int) (*goods, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	opens := time.Now()
	g := &goods{id: fmt.Sprintf("soak-%d", n), closesAt: opens.Add(saleOpen)}
	demand := r.perSecond * saleOpen.Seconds() / 2 // two are open at a time
	units := int(demand*2) + 1
	if n%2 == 0 {
		units = int(demand/3) + 1
	}
	for {
		err := r.apply(ctx, g.id, units, opens, saleOpen, hold)
		if err == nil {
			break
		}
		if !wait.For(ctx, openPause) {
			return nil, err
		}
	}
	err := r.untilSold(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.selling = append(r.selling, g)
	return g, err
}

// apply loads a sale that is open for so long, with so much time to pay.
func (r *run) apply(ctx context.Context, id string, units int, opens time.Time, lasts, hold time.Duration) error {
	path := filepath.Join(r.OutDir, "next.yaml")
	if err := os.WriteFile(path, saleText(id, units, opens, lasts, hold), 0o644); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	return r.stack.Warmup(ctx, "apply", "-oversubscribe", path)
}

// untilSold waits until every gateway sells every sale.
func (r *run) untilSold(ctx context.Context) error {
	var ops []string
	for _, g := range r.stack.Info().Gateways {
		ops = append(ops, g.OpsURL)
	}
	return r.stack.Warmup(ctx, "wait", "-gateways", strings.Join(ops, ","))
}

func saleText(id string, units int, opens time.Time, lasts, hold time.Duration) []byte {
	return fmt.Appendf(nil, "sales:\n  - {id: %s, total: %d, price: %d, currency: CNY, hold: %s, opens_at: %s, closes_at: %s}\n", id, units, price, hold,
		opens.Add(-time.Second).UTC().Format(time.RFC3339), opens.Add(lasts).UTC().Format(time.RFC3339))
}

// close waits until a sale is over and everybody in it knows, and audits it.
func (r *run) close(ctx context.Context, g *goods) {
	wait.For(ctx, time.Until(g.closesAt))
	r.mu.Lock()
	for i, open := range r.selling {
		if open == g {
			r.selling = append(r.selling[:i:i], r.selling[i+1:]...)
			break
		}
	}
	r.mu.Unlock()
	g.busy.Wait()
	wait.For(ctx, time.Until(g.closesAt.Add(hold+time.Second)))
	r.audit(ctx, g)
}

// audit holds what the stores have of a sale, and what its buyers were told, against the
// invariants. A store that is down is asked again.
func (r *run) audit(ctx context.Context, g *goods) {
	for try := 1; ; try++ {
		e, verdict, slow, err := r.auditOnce(ctx, g)
		if err == nil && !slow {
			r.noteAudit(g, e, verdict)
			return
		}
		if err == nil {
			err = fmt.Errorf("it is not at rest")
		}
		if try == auditTries || !wait.For(ctx, auditPause) {
			r.fail("I9", "sale %s cannot be audited: %v", g.id, err)
			return
		}
	}
}

func (r *run) auditOnce(ctx context.Context, g *goods) (sale.Evidence, sale.Verdict, bool, error) {
	r.auditing.Lock()
	defer r.auditing.Unlock()
	return r.stores.AuditToRest(ctx, g.id, g.winners.Seen(), auditPatience)
}
