package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/shared/failpoint"
	"sluice/shared/jetqueue"
	"sluice/shared/load"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/retirement"
	"sluice/shared/service"
)

// Limits of one step; the command as a whole has its own. Nothing here is in a
// hurry, and a busy machine should not fail a warm-up.
const (
	statementTimeout = 30 * time.Second
	redisTimeout     = 5 * time.Second
	maxConns         = 4 // the locks of sales share one
)

// Failpoints; those of a load follow.
const (
	pointApplied    = "applied"    // Postgres has the catalogue
	pointConfigured = "configured" // Redis and gateways have what changed, but for allow lists
)

// stores are the three stores, each of which has answered.
type stores struct {
	postgres *pgstore.Store
	redis    *redisstock.Client
	queue    *jetqueue.Queue
	points   *failpoint.Set
	log      *slog.Logger
}

// openStores connects to all three before anything is changed in one of them.
func openStores(ctx context.Context, in input, f storeFlags) (*stores, error) {
	log, err := service.NewLogger(in.stderr, "warmup", "warn")
	if err != nil {
		return nil, err
	}
	s := &stores{log: log}
	s.points, err = failpoint.Load(in.getenv, log, slices.Concat(load.Points(), retirement.Points(), []string{pointApplied, pointConfigured})...)
	if err != nil {
		return nil, err
	}
	s.postgres, err = pgstore.Open(ctx, pgstore.Config{URL: f.postgresURL, MaxConns: maxConns, StatementTimeout: statementTimeout})
	if err != nil {
		return nil, err
	}
	s.redis, err = redisstock.Open(redisstock.Config{URL: f.redisURL, PoolSize: maxConns, Timeout: redisTimeout})
	if err != nil {
		s.close()
		return nil, err
	}
	s.queue, err = jetqueue.Connect(ctx, jetqueue.Config{URL: f.natsURL, Name: "warmup", Log: log})
	if err != nil {
		s.close()
		return nil, err
	}
	if err := s.answer(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stores) answer(ctx context.Context) error {
	if err := s.postgres.Ping(ctx); err != nil {
		return err
	}
	return s.redis.Ping(ctx)
}

// migrated refuses stores that lack the schema, the stream or the bucket.
func (s *stores) migrated(ctx context.Context) error {
	if err := s.postgres.CheckSchema(ctx); err != nil {
		return err
	}
	if err := s.queue.Ready(ctx); err != nil {
		return fmt.Errorf("%w: run warmup migrate", err)
	}
	return s.redis.LoadScripts(ctx)
}

func (s *stores) close() {
	if s.queue != nil {
		s.queue.Close()
	}
	if s.redis != nil {
		_ = s.redis.Close() // every call was answered; closing tells nothing
	}
	s.postgres.Close()
}

// withStores runs a command that needs migrated stores.
func withStores(ctx context.Context, in input, f storeFlags, do func(ctx context.Context, s *stores) error) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	s, err := openStores(ctx, in, f)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.migrated(ctx); err != nil {
		return err
	}
	return do(ctx, s)
}
