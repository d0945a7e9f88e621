package growth

import (
	"context"
	"path/filepath"

	"sluice/loadtest/internal/rig"
)

// site is a running stack that is measured.
type site struct {
	*run
	*rig.Rig
	setting  setting
	selling  []string       // sales that are attempted
	next     int            // number of the next user: each attempts once
	accepted map[string]int // 202 answers by sale
	others   int            // other answers
}

func (r *run) open(ctx context.Context, s setting, dir string) (*site, error) {
	started, err := rig.Open(ctx, rig.Config{Gateways: s.gateways, Workers: s.workers, Sales: s.open(), Out: filepath.Join(r.Out, dir), Bin: r.Bin, Log: r.Log})
	if err != nil {
		return nil, err
	}
	return &site{run: r, Rig: started, setting: s, selling: s.ids(), accepted: make(map[string]int)}, nil
}

// settle waits until every reservation has its outcome.
func (t *site) settle(ctx context.Context) error { return t.Settle(ctx, t.setting.ids()...) }

// judge holds the settled orders against the answers.
func (t *site) judge(ctx context.Context) error {
	violations, err := t.Judge(ctx, t.accepted, t.others, t.setting.ids()...)
	for _, v := range violations {
		t.rep.Fail(v.Invariant, "%s: %s", t.setting.name(), v.Detail)
	}
	t.unwanted += t.others
	return err
}
