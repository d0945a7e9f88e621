// Package rig is a stack that is started to be measured, with what reads it: its stores, its
// rows of orders, and tokens that it takes.
package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// Rig is a running stack.
type Rig struct {
	Info   stack.Info
	Stores *collect.Stores
	Rows   orderrows.Table
	Tokens *mix.Tokens

	stack *stack.Stack
}

// Config is what is started, and where it is found and left.
type Config struct {
	Gateways, Workers int
	Sales             []Sale
	Out               string // directory of the sales file and logs, which is made
	Bin               string // with the programs
	Log               *slog.Logger
}

// Sale is one that is open now.
type Sale struct {
	ID    string
	Total int
}

// Open starts the stack, warm and with its sales loaded.
func Open(ctx context.Context, c Config) (r *Rig, err error) {
	sales, err := c.writeSales()
	if err != nil {
		return nil, err
	}
	r = &Rig{}
	r.stack, err = stack.Start(ctx, stack.Config{Gateways: c.Gateways, Workers: c.Workers, SalesFile: sales, OutDir: c.Out, BinDir: c.Bin, Log: c.Log})
	if err != nil {
		return nil, err
	}
	r.Info = r.stack.Info()
	urls := collect.URLs{Redis: r.Info.Redis.URL, NATS: r.Info.NATS.URL, Postgres: r.Info.Postgres.URL}
	if r.Stores, err = collect.Open(ctx, urls, c.Log); err != nil {
		return nil, errors.Join(err, r.stack.Close())
	}
	if r.Tokens, err = loop.NewTokens(r.Info.Secrets); err == nil {
		r.Rows, err = orderrows.Open(ctx, r.Info.Postgres.URL)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close ends all that Open began.
func (r *Rig) Close() error {
	var err error
	if r.Rows.DB != nil {
		err = r.Rows.Close()
	}
	return errors.Join(err, r.Stores.Close(), r.stack.Close())
}

// Settle waits until every reservation of the sales has its outcome.
func (r *Rig) Settle(ctx context.Context, saleIDs ...string) error {
	for _, id := range saleIDs {
		if err := orderrows.Settled(ctx, r.Stores, id); err != nil {
			return err
		}
	}
	return nil
}

// Judge holds the settled orders of sales against what was answered: 202 by sale, and how
// many attempts otherwise, of whichever sale.
func (r *Rig) Judge(ctx context.Context, accepted map[string]int, others int, saleIDs ...string) (all []sale.Violation, err error) {
	for _, id := range saleIDs {
		violations, err := r.Rows.Judge(ctx, id, orderrows.Answers{Accepted: accepted[id], Others: others})
		if err != nil {
			return all, err
		}
		all = append(all, violations...)
	}
	return all, nil
}

// writeSales writes the sales file and returns its path.
func (c Config) writeSales() (path string, err error) {
	text := bytes.NewBufferString("sales:\n")
	now := time.Now()
	for _, s := range c.Sales {
		fmt.Fprintf(text, "  - {id: %s, total: %d, price: 100, opens_at: %s, closes_at: %s}\n", s.ID, s.Total,
			now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	path = filepath.Join(c.Out, "sales.yaml")
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	return path, nil
}
