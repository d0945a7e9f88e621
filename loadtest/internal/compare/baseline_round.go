package compare

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stopTimeout bounds the end of a baseline: what it has under way, and its tables.
const stopTimeout = time.Minute

// userName is a claimer's, for a baseline that verifies no token.
func userName(n int) string { return fmt.Sprintf("claimer-%06d", n) }

// baseline shows a baseline the crowd, and wants it to give out too many, and doubles.
func (r *run) baseline(ctx context.Context, b Baseline, round int, f figures) (err error) {
	templates := r.templates(round)
	shop, drop, err := r.shop(ctx, b, templates)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	since, err := r.begin(ctx)
	if err != nil {
		return errors.Join(err, r.stop(ctx, shop))
	}
	t := newTally(b.Name(), &r.latencies)
	crowd{claimers: r.Claimers, clicks: r.Clicks, templates: templates, urls: shop.URLs(), token: userName, tally: t}.run(ctx)
	if err := r.stop(ctx, shop); err != nil {
		return err
	}
	var sides []side
	for _, at := range templates {
		g, err := judge{r.db, shop.Schema()}.given(ctx, at)
		if err != nil {
			return err
		}
		sides = append(sides, side{system: b.Name(), round: round, Sale: at, given: g})
	}
	r.wrong(b.Name(), round, sides)
	return r.took(ctx, b.Name(), round, since, t, sides, f)
}

// shop opens a baseline's. What it made goes with drop, however the round ends.
func (r *run) shop(ctx context.Context, b Baseline, sales []Sale) (_ Shop, drop func() error, err error) {
	shop, err := b.Open(ctx, Site{DB: r.db, Stack: r.Stack, Program: r.Program}, sales)
	if err != nil {
		return nil, nil, err
	}
	return shop, func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return shop.Drop(ending)
	}, nil
}

// wrong wants the judge to have seen a baseline do both that Sluice is judged for.
func (r *run) wrong(system string, round int, sides []side) {
	var over, doubles int64
	for _, s := range sides {
		over, doubles = over+s.over(), doubles+s.Doubles
	}
	if over == 0 {
		r.rep.Fail("scenario", "round %d: %s gave out no coupon too many: what is seen of Sluice beside it proves nothing", round+1, system)
	}
	if doubles == 0 {
		r.rep.Fail("scenario", "round %d: %s gave nobody a coupon beyond the limit: what is seen of Sluice beside it proves nothing", round+1, system)
	}
}

func (*run) stop(ctx context.Context, shop Shop) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return shop.Stop(ctx)
}
