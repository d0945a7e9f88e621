package compare

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	incidentName      = "incident"
	incidentSchema    = "compare_incident"
	incidentInstances = 4
	// incidentRefresh is how long an instance believes the count that it has read.
	incidentRefresh = time.Second
	// incidentConns are an instance's connections to Postgres.
	incidentConns = 10
)

// incident is a coupon service as it ran into trouble: several instances, each of which
// trusts its own copy of the count.
type incident struct{}

func (incident) Name() string { return incidentName }

func (incident) Notes() []string {
	return []string{
		fmt.Sprintf("%s: %d HTTP servers of their own, each with %d connections to the same Postgres, in a schema of the run's own. An instance keeps a copy of each template's count: it reads how many coupons there are, "+
			"believes that for %s, and adds what it gives out itself; of what the others give out meanwhile it knows nothing. A claim that the copy has one left for is one transaction (READ COMMITTED): read issued, insert a coupon, write issued = read + 1. "+
			"There is no lock and no condition in Postgres, no unique key, and no look at what the claimer has or at the Idempotency-Key. Nothing waits on purpose, and nothing is slowed down.",
			incidentName, incidentInstances, incidentConns, incidentRefresh),
		fmt.Sprintf("%s has two more causes. Reading the count again overwrites the copy with the rows that are committed, so an instance forgets what it has taken itself and not yet committed. "+
			"And a claim waits up to %s for a connection and then runs up to %s, though its claimer left after %s and clicked elsewhere: both clicks may get a coupon.", incidentName, connTimeout, claimTimeout, clickTimeout),
		fmt.Sprintf("%s: it verifies no token and has no stream to write to; its answer is the coupon, Sluice's a ticket that soon becomes one. So its latency is beside Sluice's two: until 202, and from then until the coupon is held.", incidentName),
	}
}

// incidentTables are as the judge wants them, with an index to count a template's coupons.
const incidentTables = `
	DROP SCHEMA IF EXISTS ` + incidentSchema + ` CASCADE;
	CREATE SCHEMA ` + incidentSchema + `;
	CREATE TABLE ` + incidentSchema + `.coupon_templates (
		template_id text PRIMARY KEY, total bigint NOT NULL, issued bigint NOT NULL DEFAULT 0);
	CREATE TABLE ` + incidentSchema + `.coupons (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, template_id text NOT NULL, user_id text NOT NULL, issued_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX coupons_of_template ON ` + incidentSchema + `.coupons (template_id);`

func (incident) Open(ctx context.Context, site Site, templates []Sale) (Shop, error) {
	if _, err := site.DB.Exec(ctx, incidentTables); err != nil {
		return nil, fmt.Errorf("cannot make tables of %s: %w", incidentName, err)
	}
	shop := &incidentShop{site: site}
	for _, t := range templates {
		if _, err := site.DB.Exec(ctx, `INSERT INTO `+incidentSchema+`.coupon_templates (template_id, total) VALUES ($1, $2)`, t.ID, t.Total); err != nil {
			return nil, fmt.Errorf("cannot insert template of %s: %w", incidentName, errors.Join(err, shop.Drop(ctx)))
		}
	}
	for range incidentInstances {
		i, err := startIncident(ctx, site.Stack.Postgres.URL)
		if err != nil {
			return nil, errors.Join(err, shop.Stop(ctx), shop.Drop(ctx))
		}
		shop.instances = append(shop.instances, i)
	}
	return shop, nil
}

type incidentShop struct {
	site      Site
	instances []*incidentInstance
}

func (*incidentShop) Schema() string { return incidentSchema }

func (s *incidentShop) URLs() []string {
	urls := make([]string, len(s.instances))
	for i, instance := range s.instances {
		urls[i] = instance.url
	}
	return urls
}

func (s *incidentShop) Stop(ctx context.Context) error {
	errs := make([]error, len(s.instances))
	for i, instance := range s.instances {
		errs[i] = instance.stop(ctx)
	}
	return errors.Join(errs...)
}

func (s *incidentShop) Drop(ctx context.Context) error {
	if _, err := s.site.DB.Exec(ctx, `DROP SCHEMA `+incidentSchema+` CASCADE`); err != nil {
		return fmt.Errorf("cannot drop tables of %s: %w", incidentName, err)
	}
	return nil
}
