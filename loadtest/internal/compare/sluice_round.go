package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	followers      = 64 // claimers who ask at a time what became of their claims
	outcomePatient = time.Minute
	warmClaimers   = 200
)

// sluice shows Sluice the crowd, waits for every outcome, and judges what is in
// Postgres.
func (r *run) sluice(ctx context.Context, round int, f figures) error {
	templates := r.templates(round)
	if err := r.open(ctx, fmt.Sprintf("round-%d.yaml", round+1), templates); err != nil {
		return err
	}
	since, err := r.begin(ctx)
	if err != nil {
		return err
	}
	watcher, err := r.watch(ctx, fmt.Sprintf("round-%d", round+1))
	if err != nil {
		return err
	}
	t := newTally(sluiceName, &r.latencies)
	crowd{claimers: r.Claimers, clicks: r.Clicks, templates: templates, urls: r.gateways(), token: r.token, tally: t}.run(ctx)
	err = r.follow(ctx, t)
	seen := watcher.Stop(ctx, int64(t.requests))
	if err != nil {
		return err
	}
	var sides []side
	for _, at := range templates {
		given, err := r.judge(ctx, at, t)
		if err != nil {
			return err
		}
		sides = append(sides, side{system: sluiceName, round: round, Sale: at, given: given})
	}
	for _, s := range sides {
		r.claimed(s)
	}
	if err := r.took(ctx, sluiceName, round, since, t, sides, f); err != nil {
		return err
	}
	r.shown = append(r.shown, shown{PartIncident, round, seen, int64(f[sluiceName+"_db_writes"])})
	return nil
}

// watch watches Sluice's processes until the caller stops it.
func (r *run) watch(ctx context.Context, what string) (*collect.Watcher, error) {
	return collect.Watch(ctx, collect.Watched{Stack: func() stack.Info { return r.Stack }, Name: what, Text: "workers that make the orders of " + what})
}

// warmUp has a small crowd claim what the stack started with. It is judged, not
// measured.
func (r *run) warmUp(ctx context.Context) error {
	t := newTally(sluiceName, &record.Latencies{})
	at := warmTemplate()
	crowd{claimers: min(warmClaimers, len(r.tokens)), clicks: 2, templates: []Sale{at}, urls: r.gateways(), token: r.token, tally: t}.run(ctx)
	if err := r.follow(ctx, t); err != nil {
		return err
	}
	_, err := r.judge(ctx, at, t)
	return err
}

// open has the templates' sales on every gateway.
func (r *run) open(ctx context.Context, file string, templates []Sale) error {
	path := filepath.Join(r.Dir, file)
	if err := writeSales(path, templates); err != nil {
		return err
	}
	// A machine for measuring: its sales are as large as one likes.
	if err := r.Warmup(ctx, "apply", "-oversubscribe", path); err != nil {
		return err
	}
	return r.Warmup(ctx, "wait", "-gateways", strings.Join(r.gatewayOps(), ","))
}

// judge holds what is in Postgres against the invariants and the claimers' tickets, and
// leaves the sale to the audit.
func (r *run) judge(ctx context.Context, at Sale, t *tally) (given, error) {
	winners := t.winnersOf(at.ID)
	r.winners[at.ID] = winners
	r.order = append(r.order, at.ID)
	facts, err := judge{r.db, "public"}.facts(ctx, at)
	if err != nil {
		return given{}, err
	}
	for _, v := range facts.violations(winners.All()) {
		r.wrongWith(at.ID, v.Invariant, "%s", v.Detail)
	}
	return facts.given, nil
}

func (r *run) token(claimer int) string { return r.tokens[claimer] }

func (r *run) gateways() []string {
	urls := make([]string, len(r.Stack.Gateways))
	for i, g := range r.Stack.Gateways {
		urls[i] = g.URL
	}
	return urls
}

// gatewayOps are the gateways' listeners of metrics.
func (r *run) gatewayOps() []string {
	urls := make([]string, len(r.Stack.Gateways))
	for i, g := range r.Stack.Gateways {
		urls[i] = g.OpsURL
	}
	return urls
}

// follow lets everybody who was told of a ticket ask until it has its outcome.
func (r *run) follow(ctx context.Context, t *tally) error {
	ctx, cancel := context.WithTimeout(ctx, outcomePatient)
	defer cancel()
	buyers := attack.NewBuyers(followers, attackTimeout)
	defer buyers.Close()
	places := make(chan struct{}, followers)
	var (
		following sync.WaitGroup
		mu        sync.Mutex
		lost      []error
	)
	for _, winners := range t.winners {
		for _, w := range winners.All() {
			places <- struct{}{}
			following.Go(func() {
				defer func() { <-places }()
				if err := r.followOne(ctx, buyers, winners, w); err != nil {
					mu.Lock()
					defer mu.Unlock()
					lost = append(lost, err)
				}
			})
		}
	}
	following.Wait()
	if len(lost) > 0 {
		r.rep.Fail("I3", "%d tickets could not be followed to an outcome, the first: %v", len(lost), lost[0])
	}
	return nil
}

func (r *run) followOne(ctx context.Context, buyers *attack.Buyers, winners *record.Winners, w record.Winner) error {
	if w.Last() != sale.StatusQueued {
		return nil
	}
	buyer, err := buyers.Buyer(r.tokens[w.Buyer], true, r.gateways()...)
	if err != nil {
		return err
	}
	_, err = buyer.Follow(ctx, client.Ticket{Ticket: w.Ticket}, func(t client.Ticket, _ time.Duration) { winners.Status(w.RID, t.Status) })
	return err
}
