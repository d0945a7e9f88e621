package main

import (
	"errors"
	"flag"
	"log/slog"
	"time"

	"sluice/shared/auth"
	"sluice/shared/backlog"
	"sluice/shared/connections"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
	"sluice/shared/service"
	"sluice/worker/internal/alerts"
	"sluice/worker/internal/fulfil"
	"sluice/worker/internal/lifecycle"
	"sluice/worker/internal/pacing"
	"sluice/worker/internal/reconcile"
)

// config is what a worker can be told, by flags or by the environment.
type config struct {
	listen, opsListen         string
	maxConnections            int
	redisURL, natsURL         string
	postgresURL               string
	tokens                    service.TokenFlags
	adminToken                string
	webhookKey, webhookKeyOld string
	logLevel                  string
	postgresConns, buyerConns int
	operatorConns             int
	redisPool                 int
	redisTimeout, statement   time.Duration
	drain, expireEvery        time.Duration
	promise                   time.Duration // of the backlog's age
	rebuilds                  int
	replayHorizon             time.Duration
	reconcile                 reconcile.Config
	retire                    lifecycle.RetirementConfig
	pace                      pacing.Config
	fulfil                    fulfil.Config
	alerts                    alerts.Config
}

// looksShare is the part of the connections to Redis, one in so many, that looking at all
// sales may take. The others are for batches that are settled (as many as -consumers), and
// for eight calls each of releases and of orders to be shown.
const looksShare = 4

func parse(args []string, getenv func(string) string) (config, error) {
	var c config
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8090", "address `host:port` for buyers' orders and coupons, and for order systems")
	fs.IntVar(&c.maxConnections, "max-connections", 0, "most connections of buyers, order systems and payment providers, others are refused; 0 is 2,000, or what the limit of open files allows")
	fs.StringVar(&c.opsListen, "ops-listen", "127.0.0.1:9081", "address `host:port` of health, metrics, profiles and the admin API")
	fs.StringVar(&c.redisURL, "redis-url", "redis://127.0.0.1:6379/0", "Redis `url`: "+redisstock.URLForms)
	fs.StringVar(&c.natsURL, "nats-url", "nats://127.0.0.1:4222", "NATS `url`; those of several servers of a cluster are separated by commas")
	fs.StringVar(&c.postgresURL, "postgres-url", "", "Postgres `url`; several hosts, as in postgres://user@a:5432,b:5432/db, are a primary and its standbys")
	c.tokens.Register(fs)
	fs.StringVar(&c.adminToken, "admin-token", "", "bearer `secret` of the admin API and profiles, at least 32 bytes; without it nobody gets them")
	fs.StringVar(&c.webhookKey, "webhook-key", "", "`secret` that the payment provider signs events with, at least 32 bytes; without it no payment is taken")
	fs.StringVar(&c.webhookKeyOld, "webhook-key-old", "", "`secret` that is taken too, while the provider changes from it to -webhook-key")
	fs.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.IntVar(&c.postgresConns, "postgres-conns", 12, "most connections to Postgres for orders: more than -consumers")
	fs.IntVar(&c.buyerConns, "postgres-buyer-conns", 3, "most connections to Postgres for what buyers ask")
	fs.IntVar(&c.operatorConns, "postgres-operator-conns", 2, "most connections to Postgres for what operators ask")
	fs.IntVar(&c.redisPool, "redis-pool", 32, "most connections to Redis, to each server of a cluster, a quarter of them for looking at the sales")
	fs.DurationVar(&c.redisTimeout, "redis-timeout", 300*time.Millisecond, "of one call to Redis")
	fs.DurationVar(&c.statement, "statement-timeout", 5*time.Second, "of one statement in Postgres")
	backlog.PromiseFlag(fs, &c.promise)
	fs.DurationVar(&c.drain, "drain", time.Second, "time to answer buyers on after SIGTERM while unready")
	fs.DurationVar(&c.expireEvery, "expire-every", time.Second, "how often to look for orders that were not paid in time")
	fs.IntVar(&c.rebuilds, "rebuilds", 4, "most sales that this worker counts and loads at a time, each with a connection to Postgres; any number may wait for orders")
	fs.DurationVar(&c.retire.Every, "retire-every", 10*time.Second, "how often to look for sales that are over")
	fs.DurationVar(&c.retire.Retention, "retention", 24*time.Hour, "time from a sale's end until it is retired, if nothing is left to be done then")
	fs.DurationVar(&c.retire.ForgetAfter, "forget-after", time.Hour, "time for which the catalogue says that a sale is retired")
	fs.DurationVar(&c.replayHorizon, "replay-horizon", time.Hour, "age from which acknowledged hand-overs are removed from the stream: more than a restored Postgres may lack")
	fs.DurationVar(&c.reconcile.Every, "reconcile-every", 30*time.Second, "how often the stores are compared, by all workers together")
	fs.DurationVar(&c.reconcile.StuckAfter, "stuck-after", time.Minute, "age from which what a loop should have finished counts as a deviation")
	fs.DurationVar(&c.fulfil.AckWait, "ack-wait", 10*time.Second, "after which a dead worker's hand-overs are delivered to others; renewed while at work")
	fs.DurationVar(&c.fulfil.SweepAfter, "sweep-after", sale.AnswersOver, "age in handoff after which a reservation is handed over again")
	fs.DurationVar(&c.fulfil.StopWithin, "stop-within", 10*time.Second, "most time for the batches in hand after SIGTERM")
	fs.DurationVar(&c.pace.Target, "pace-target", 50*time.Millisecond, "what nine of ten order transactions should take at most; the pace follows from it")
	fs.Float64Var(&c.pace.Floor, "pace-floor", 500, "least `orders` a second that this worker allows itself, however slow Postgres is: about a full transaction a second")
	fs.Float64Var(&c.pace.Ceiling, "pace-ceiling", 100_000, "most `orders` a second that this worker allows itself")
	fs.IntVar(&c.pace.ConsumersMax, "consumers", 8, "most order transactions that this worker has in flight; it takes as many as Postgres bears")
	alertFlags(fs, &c.alerts)
	if err := service.Parse(fs, args, getenv); err != nil {
		return c, err
	}
	var err error
	if c.maxConnections, err = connections.Possible(c.maxConnections, usualConnections, reservedFiles); err != nil {
		return c, err
	}
	c.fulfil.Consumers = c.pace.ConsumersMax
	c.fulfil.Looks = max(2, c.redisPool/looksShare)
	return c, c.check()
}

// signatures verifies the payment provider's events with the keys that are set.
func (c config) signatures(log *slog.Logger) (*auth.WebhookVerifier, error) {
	if c.webhookKey == "" {
		log.Warn("no webhook key: payment events are refused")
	}
	var keys [][]byte
	for _, key := range []string{c.webhookKey, c.webhookKeyOld} {
		if key != "" {
			keys = append(keys, []byte(key))
		}
	}
	return auth.NewWebhookVerifier(keys...)
}

func (c config) check() error {
	if err := c.tokens.Check(); err != nil {
		return err
	}
	for name, key := range map[string]string{"admin-token": c.adminToken, "webhook-key": c.webhookKey, "webhook-key-old": c.webhookKeyOld} {
		if key == "" {
			continue
		}
		if err := service.CheckSecret(name, key); err != nil {
			return err
		}
	}
	if err := jetqueue.CheckURL(c.natsURL); err != nil {
		return service.UsageErrorf("-nats-url (SLUICE_NATS_URL): %v", err)
	}
	if err := errors.Join(c.reconcile.Check(), c.alerts.Check()); err != nil {
		return service.UsageErrorf("%v", err)
	}
	if err := backlog.CheckPromise(c.promise); err != nil {
		return service.UsageErrorf("%v", err)
	}
	if err := c.checkPace(); err != nil {
		return err
	}
	switch {
	case c.postgresURL == "":
		return service.UsageErrorf("-postgres-url (SLUICE_POSTGRES_URL) is missing: orders are kept there")
	case c.buyerConns < 1 || c.operatorConns < 1:
		return service.UsageErrorf("-postgres-buyer-conns (SLUICE_POSTGRES_BUYER_CONNS) and -postgres-operator-conns (SLUICE_POSTGRES_OPERATOR_CONNS) must be at least 1")
	case c.redisPool < 1:
		return service.UsageErrorf("-redis-pool (SLUICE_REDIS_POOL) must be at least 1, is %d", c.redisPool)
	case c.redisTimeout <= 0 || c.statement < time.Millisecond:
		return service.UsageErrorf("-redis-timeout (SLUICE_REDIS_TIMEOUT) and -statement-timeout (SLUICE_STATEMENT_TIMEOUT) must be positive")
	case c.expireEvery < 10*time.Millisecond:
		return service.UsageErrorf("-expire-every (SLUICE_EXPIRE_EVERY) must be at least 10ms, is %s", c.expireEvery)
	case c.rebuilds < 1:
		return service.UsageErrorf("-rebuilds (SLUICE_REBUILDS) must be at least 1, is %d", c.rebuilds)
	case c.retire.Every < 10*time.Millisecond:
		return service.UsageErrorf("-retire-every (SLUICE_RETIRE_EVERY) must be at least 10ms, is %s", c.retire.Every)
	case c.retire.Retention < 0 || c.retire.ForgetAfter < 0:
		return service.UsageErrorf("-retention (SLUICE_RETENTION) and -forget-after (SLUICE_FORGET_AFTER) must not be negative")
	case c.replayHorizon < time.Second:
		return service.UsageErrorf("-replay-horizon (SLUICE_REPLAY_HORIZON) must be at least 1s, is %s", c.replayHorizon)
	case c.fulfil.AckWait < time.Second:
		return service.UsageErrorf("-ack-wait (SLUICE_ACK_WAIT) must be at least 1s, is %s", c.fulfil.AckWait)
	case c.fulfil.SweepAfter < sale.AnswersOver:
		return service.UsageErrorf("-sweep-after (SLUICE_SWEEP_AFTER) must be at least %v, when no gateway answers any more, is %v", sale.AnswersOver, c.fulfil.SweepAfter)
	case c.fulfil.StopWithin <= 0 || c.drain < 0:
		return service.UsageErrorf("-stop-within (SLUICE_STOP_WITHIN) must be positive, -drain (SLUICE_DRAIN) not negative")
	}
	return nil
}

func (c config) checkPace() error {
	p := c.pace
	switch {
	case p.Target < time.Millisecond:
		return service.UsageErrorf("-pace-target (SLUICE_PACE_TARGET) must be at least 1ms, is %s", p.Target)
	case !(p.Floor >= 1):
		return service.UsageErrorf("-pace-floor (SLUICE_PACE_FLOOR) must be at least 1, is %v: to stop orders, pause the pace", p.Floor)
	case !(p.Ceiling >= p.Floor && p.Ceiling <= 1e9):
		return service.UsageErrorf("-pace-ceiling (SLUICE_PACE_CEILING) must be at least -pace-floor (SLUICE_PACE_FLOOR), %v, and at most 1e9, is %v", p.Floor, p.Ceiling)
	case p.ConsumersMax < 1 || p.ConsumersMax > 1000:
		return service.UsageErrorf("-consumers (SLUICE_CONSUMERS) must be 1 to 1000, is %d", p.ConsumersMax)
	case c.postgresConns <= p.ConsumersMax:
		return service.UsageErrorf("-postgres-conns (SLUICE_POSTGRES_CONNS) must be more than -consumers (SLUICE_CONSUMERS), %d, is %d", p.ConsumersMax, c.postgresConns)
	}
	return nil
}
