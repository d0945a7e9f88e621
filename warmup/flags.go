package main

import (
	"flag"
	"fmt"
	"time"

	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

// newFlags makes the flag set of a command; its help goes to stdout.
func newFlags(in input, name, operands string) *flag.FlagSet {
	fs := flag.NewFlagSet("warmup "+name, flag.ContinueOnError)
	fs.SetOutput(in.stdout)
	fs.Usage = func() {
		fmt.Fprintf(in.stdout, "Usage: warmup %s [flags] %s\n", name, operands)
		fs.PrintDefaults()
	}
	return fs
}

// storeFlags say where the stores are.
type storeFlags struct {
	postgresURL, redisURL, natsURL string
	timeout                        time.Duration // of the whole command
}

func (f *storeFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.postgresURL, "postgres-url", "", "Postgres `url`; several hosts, as in postgres://user@a:5432,b:5432/db, are a primary and its standbys")
	fs.StringVar(&f.redisURL, "redis-url", "redis://127.0.0.1:6379/0", "Redis `url`: "+redisstock.URLForms)
	fs.StringVar(&f.natsURL, "nats-url", "nats://127.0.0.1:4222", "NATS `url`; those of several servers of a cluster are separated by commas")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "of the whole command")
}

func (f *storeFlags) check() error {
	if f.postgresURL == "" {
		return missing("postgres-url", "say where Postgres is")
	}
	if err := jetqueue.CheckURL(f.natsURL); err != nil {
		return service.UsageErrorf("-nats-url (SLUICE_NATS_URL): %v", err)
	}
	return checkTimeout(f.timeout)
}

func checkTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return service.UsageErrorf("-timeout (%s) must be positive, is %v", service.Variable("timeout"), timeout)
	}
	return nil
}

func missing(flagName, hint string) error {
	return service.UsageErrorf("-%s (%s) is missing: %s", flagName, service.Variable(flagName), hint)
}
