// Package collect reads what a run is judged by: evidence for the audit from the
// three stores, counters from the gateways, and what the database wrote.
package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/shared/evidence"
	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

// readTimeout bounds one read of one store. An audit reads whole sales, beside a
// database that may be busy.
const readTimeout = 30 * time.Second

// URLs of the stores.
type URLs struct{ Redis, NATS, Postgres string }

// Stores are connections to the three stores, for reading. They serve one caller
// at a time.
type Stores struct {
	Postgres *pgstore.Store
	Redis    *redisstock.Client
	Queue    *jetqueue.Queue
	database *pgx.Conn // for the server's own statistics
}

// Open connects to all stores. The caller closes them.
func Open(ctx context.Context, urls URLs, log *slog.Logger) (*Stores, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s := &Stores{}
	if err := s.open(ctx, urls, log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stores) open(ctx context.Context, urls URLs, log *slog.Logger) (err error) {
	if s.Postgres, err = pgstore.Open(ctx, pgstore.Config{URL: urls.Postgres, MaxConns: 2, StatementTimeout: readTimeout}); err != nil {
		return err
	}
	if s.database, err = pgx.Connect(ctx, urls.Postgres); err != nil {
		return fmt.Errorf("cannot connect to postgres: %w", err)
	}
	if s.Redis, err = redisstock.Open(redisstock.Config{URL: urls.Redis, PoolSize: 2, Timeout: 5 * time.Second}); err != nil {
		return err
	}
	s.Queue, err = jetqueue.Connect(ctx, jetqueue.Config{URL: urls.NATS, Name: "sluice-audit", Log: log})
	return err
}

// Audit reads the evidence of one sale and judges it, as evidence.Stores does.
func (s *Stores) Audit(ctx context.Context, saleID string, seen []sale.Seen, patience time.Duration) (sale.Evidence, sale.Verdict, error) {
	return evidence.Stores{Postgres: s.Postgres, Redis: s.Redis, Stream: s.Queue}.Audit(ctx, saleID, seen, patience)
}

// Close closes what was opened.
func (s *Stores) Close() error {
	var errs []error
	if s.Queue != nil {
		s.Queue.Close()
	}
	if s.Redis != nil {
		errs = append(errs, s.Redis.Close())
	}
	if s.database != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		errs = append(errs, s.database.Close(ctx))
	}
	if s.Postgres != nil {
		s.Postgres.Close()
	}
	return errors.Join(errs...)
}
