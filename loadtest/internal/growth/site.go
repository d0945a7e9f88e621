package growth

import (
	"context"
	"errors"
	"path/filepath"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/stack"
)

// site is a running stack that is measured.
type site struct {
	*run
	setting  setting
	stack    *stack.Stack
	info     stack.Info
	stores   *collect.Stores
	rows     orderrows.Table
	tokens   *mix.Tokens
	selling  []string       // sales that are attempted
	next     int            // number of the next user: each attempts once
	accepted map[string]int // 202 answers by sale
	others   int            // other answers
}

func (r *run) open(ctx context.Context, s setting, dir string) (t *site, err error) {
	t = &site{run: r, setting: s, selling: s.ids(), accepted: make(map[string]int)}
	out := filepath.Join(r.Out, dir)
	sales, err := s.salesFile(out)
	if err != nil {
		return nil, err
	}
	t.stack, err = stack.Start(ctx, stack.Config{Gateways: s.gateways, Workers: s.workers, SalesFile: sales, OutDir: out, BinDir: r.Bin, Log: r.Log})
	if err != nil {
		return nil, err
	}
	t.info = t.stack.Info()
	urls := collect.URLs{Redis: t.info.Redis.URL, NATS: t.info.NATS.URL, Postgres: t.info.Postgres.URL}
	if t.stores, err = collect.Open(ctx, urls, r.Log); err != nil {
		return nil, errors.Join(err, t.stack.Close())
	}
	if t.tokens, err = loop.NewTokens(t.info.Secrets); err == nil {
		t.rows, err = orderrows.Open(ctx, t.info.Postgres.URL)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *site) close() error {
	var err error
	if t.rows.DB != nil {
		err = t.rows.Close()
	}
	return errors.Join(err, t.stores.Close(), t.stack.Close())
}

// settle waits until every reservation has its outcome.
func (t *site) settle(ctx context.Context) error {
	for _, id := range t.setting.ids() {
		if err := orderrows.Settled(ctx, t.stores, id); err != nil {
			return err
		}
	}
	return nil
}

// judge holds the settled orders against the answers.
func (t *site) judge(ctx context.Context) error {
	for _, id := range t.setting.ids() {
		violations, err := t.rows.Judge(ctx, id, orderrows.Answers{Accepted: t.accepted[id], Others: t.others})
		if err != nil {
			return err
		}
		for _, v := range violations {
			t.rep.Fail(v.Invariant, "%s: %s", t.setting.name(), v.Detail)
		}
	}
	t.unwanted += t.others
	return nil
}
