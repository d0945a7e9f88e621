package main

import (
	"errors"
	"flag"
	"time"

	"sluice/gateway/internal/funnel"
	"sluice/shared/backlog"
	"sluice/shared/connections"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/service"
)

// config is what a gateway can be told, by flags or by the environment.
type config struct {
	listen, opsListen   string
	redisURL, natsURL   string
	tokens              service.TokenFlags
	identity            identityConfig
	ticketKey           string
	logLevel            string
	redisPool, readPool int
	redisTimeout        time.Duration
	refresh             time.Duration
	horizon             time.Duration
	forgetAfter         time.Duration
	promise             time.Duration // of the backlog's age
	drain               time.Duration
	maxConnections      int
	waiters             int
	events              events
	funnel              funnel.Config
	limits              limits
	local               localShop
}

func parse(args []string, getenv func(string) string) (config, error) {
	var c config
	fs := flag.NewFlagSet("gateway", flag.ContinueOnError)
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8080", "public address `host:port`")
	fs.StringVar(&c.opsListen, "ops-listen", "127.0.0.1:9080", "address of health, metrics and profiles `host:port`")
	fs.StringVar(&c.redisURL, "redis-url", "redis://127.0.0.1:6379/0", "Redis `url`: "+redisstock.URLForms)
	fs.StringVar(&c.natsURL, "nats-url", "nats://127.0.0.1:4222", "NATS `url`; those of several servers of a cluster are separated by commas")
	c.tokens.Register(fs)
	c.identity.register(fs)
	fs.StringVar(&c.ticketKey, "ticket-key", "", "`secret` that tickets are signed with; the same on every gateway")
	fs.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.IntVar(&c.redisPool, "redis-pool", 32, "most connections to Redis for attempts, to each server of a cluster")
	fs.IntVar(&c.readPool, "redis-read-pool", 16, "most connections to Redis for reads of tickets, to each server of a cluster")
	fs.DurationVar(&c.redisTimeout, "redis-timeout", 300*time.Millisecond, "of one call to Redis")
	fs.DurationVar(&c.refresh, "refresh", time.Second, "period in which every sale's state is read again")
	fs.DurationVar(&c.horizon, "warm-horizon", 24*time.Hour, "sales that open within it must be loaded before this gateway is ready")
	fs.DurationVar(&c.forgetAfter, "forget-after", time.Hour, "time after which a retired sale is no longer known here: 404 instead of closed; its tickets stay 410")
	backlog.PromiseFlag(fs, &c.promise)
	fs.DurationVar(&c.drain, "drain", 2*time.Second, "time to serve on after SIGTERM while unready")
	fs.IntVar(&c.maxConnections, "max-connections", 0, "most public connections, others are refused; 0 is 10,000, or what the limit of open files allows")
	fs.DurationVar(&c.funnel.PublishTimeout, "publish-timeout", 2*time.Second, "from the start of a reserve call to its hand-over's acknowledgement")
	fs.IntVar(&c.funnel.BatchSize, "reserve-batch", 256, "most attempts in one reserve call")
	fs.IntVar(&c.funnel.InFlight, "reserve-in-flight", 2, "reserve calls of one sale at a time, hand-over included; a second only while those that wait fill it")
	fs.IntVar(&c.funnel.LineLength, "reserve-line", 4096, "most attempts of one sale that wait for a reserve call")
	fs.IntVar(&c.funnel.TotalLine, "reserve-line-total", 16384, "the same for all sales together; each that has attempts is sure of its share by weight")
	fs.Float64Var(&c.funnel.AdmitRate, "admit-rate", 0, "attempts a second let through to Redis, of all sales; each that has attempts is sure of its share by weight; 0 is unlimited")
	fs.Float64Var(&c.funnel.AdmitSaleRate, "admit-sale-rate", 0, "most attempts a second of any one sale let through; 0 is unlimited")
	fs.DurationVar(&c.funnel.AdmitWait, "admit-wait", 200*time.Millisecond, "most time that an attempt waits to be let through")
	fs.DurationVar(&c.funnel.InstantBudget, "instant-budget", time.Second, "most time that an instant sale's attempt waits for its outcome")
	c.limits.register(fs)
	fs.IntVar(&c.waiters, "ticket-waiters", 0, "most reads of tickets that wait at a time; 0 is half of the connections, and more is refused")
	c.events.register(fs)
	c.local.register(fs)
	if err := service.Parse(fs, args, getenv); err != nil {
		return c, err
	}
	if err := c.check(); err != nil {
		return c, err
	}
	return c, c.shareConnections()
}

// shareConnections keeps those who wait from keeping those out who attempt.
func (c *config) shareConnections() (err error) {
	if c.maxConnections, err = connections.Possible(c.maxConnections, usualConnections, reservedFiles); err != nil {
		return err
	}
	most := max(1, c.maxConnections/2)
	if c.waiters > most {
		return service.UsageErrorf("-ticket-waiters (SLUICE_TICKET_WAITERS) must be at most half of -max-connections, %d, is %d", most, c.waiters)
	}
	if c.waiters == 0 {
		c.waiters = most
	}
	return nil
}

const (
	mostPool     = 4096
	leastRefresh = 50 * time.Millisecond
)

func (c config) check() error {
	if err := c.tokens.Check(); err != nil {
		return err
	}
	if err := c.identity.check(c.limits.proxies); err != nil {
		return err
	}
	if err := jetqueue.CheckURL(c.natsURL); err != nil {
		return service.UsageErrorf("-nats-url (SLUICE_NATS_URL): %v", err)
	}
	if err := service.CheckSecret("ticket-key", c.ticketKey); err != nil {
		return err
	}
	if err := c.local.check(c.listen, c.limits.proxies, c.tokens); err != nil {
		return err
	}
	if err := backlog.CheckPromise(c.promise); err != nil {
		return service.UsageErrorf("%v", err)
	}
	switch {
	case c.redisPool < 1 || c.readPool < 1 || c.redisPool > mostPool || c.readPool > mostPool:
		return service.UsageErrorf("-redis-pool (SLUICE_REDIS_POOL) and -redis-read-pool (SLUICE_REDIS_READ_POOL) must be 1 to %d", mostPool)
	case c.waiters < 0:
		return service.UsageErrorf("-ticket-waiters (SLUICE_TICKET_WAITERS) must not be negative, is %d", c.waiters)
	case c.drain < 0:
		return service.UsageErrorf("-drain (SLUICE_DRAIN) must not be negative, is %v", c.drain)
	case c.redisTimeout <= 0 || c.refresh < leastRefresh:
		return service.UsageErrorf("-redis-timeout (SLUICE_REDIS_TIMEOUT) must be positive, -refresh (SLUICE_REFRESH) at least %v", leastRefresh)
	case c.horizon < 0 || c.forgetAfter < 0:
		return service.UsageErrorf("-warm-horizon (SLUICE_WARM_HORIZON) and -forget-after (SLUICE_FORGET_AFTER) must not be negative")
	}
	if err := c.events.check(); err != nil {
		return err
	}
	if err := errors.Join(c.funnel.Check(), c.limits.check()); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return nil
}
