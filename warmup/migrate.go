package main

import (
	"context"
	"fmt"
	"time"

	"sluice/shared/jetqueue"
	"sluice/shared/service"
)

func runMigrate(ctx context.Context, in input) error {
	var f storeFlags
	var stream jetqueue.StreamConfig
	fs := newFlags(in, "migrate", "")
	f.register(fs)
	fs.Int64Var(&stream.MaxBytes, "stream-max-bytes", 0, "most `bytes` of hand-overs, of all sales together; 0 keeps what is set, at first 1 GiB")
	fs.Int64Var(&stream.MaxMessagesPerSale, "stream-max-messages", 0, "most hand-overs of one sale; 0 keeps what is set, at first 1,000,000")
	fs.IntVar(&stream.Replicas, "stream-replicas", 0, "copies of the streams and the catalogue, 1 or 3; 0 keeps what is set, at first 1")
	fs.DurationVar(&stream.PaymentsMaxAge, "payments-max-age", 0, "how long payment events can be replayed; 0 keeps what is set, at first 168h")
	fs.Int64Var(&stream.PaymentsMaxBytes, "payments-max-bytes", 0, "most `bytes` of payment events; 0 keeps what is set, at first 2 GiB")
	if err := service.Parse(fs, in.args, in.getenv); err != nil {
		return err
	}
	if err := checkStream(stream); err != nil {
		return err
	}
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
	return s.migrate(ctx, in, stream)
}

func checkStream(c jetqueue.StreamConfig) error {
	switch {
	case c.MaxBytes != 0 && c.MaxBytes < 1<<20:
		return service.UsageErrorf("-stream-max-bytes (%s) must be at least %d, is %d", service.Variable("stream-max-bytes"), 1<<20, c.MaxBytes)
	case c.MaxMessagesPerSale < 0:
		return service.UsageErrorf("-stream-max-messages (%s) must not be negative, is %d", service.Variable("stream-max-messages"), c.MaxMessagesPerSale)
	case c.Replicas != 0 && c.Replicas != 1 && c.Replicas != 3:
		return service.UsageErrorf("-stream-replicas (%s) must be 1 or 3, is %d", service.Variable("stream-replicas"), c.Replicas)
	case c.PaymentsMaxAge != 0 && c.PaymentsMaxAge < time.Hour:
		return service.UsageErrorf("-payments-max-age (%s) must be at least 1h, is %v", service.Variable("payments-max-age"), c.PaymentsMaxAge)
	case c.PaymentsMaxBytes != 0 && c.PaymentsMaxBytes < 1<<20:
		return service.UsageErrorf("-payments-max-bytes (%s) must be at least %d, is %d", service.Variable("payments-max-bytes"), 1<<20, c.PaymentsMaxBytes)
	}
	return nil
}

func (s *stores) migrate(ctx context.Context, in input, stream jetqueue.StreamConfig) error {
	applied, err := s.postgres.Migrate(ctx)
	if err != nil {
		return err
	}
	if err := s.queue.Ensure(ctx, stream); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.stdout, "schema: %d migrations applied; streams %s and %s and bucket %s are there\n",
		applied, jetqueue.StreamName, jetqueue.PaymentsStream, jetqueue.BucketName)
	return err
}
