package main

import (
	"errors"
	"flag"
	"time"

	"sluice/gateway/internal/funnel"
	"sluice/shared/service"
)

// config is what a gateway can be told, by flags or by the environment.
type config struct {
	listen, opsListen      string
	redisURL, natsURL      string
	jwtKey                 string
	jwtIssuer, jwtAudience string
	ticketKey              string
	logLevel               string
	redisPool              int
	redisTimeout           time.Duration
	refresh                time.Duration
	horizon                time.Duration
	drain                  time.Duration
	maxConnections         int
	waiters                int
	funnel                 funnel.Config
	address                funnel.AddressConfig
}

func parse(args []string, getenv func(string) string) (config, error) {
	var c config
	fs := flag.NewFlagSet("gateway", flag.ContinueOnError)
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8080", "public address `host:port`")
	fs.StringVar(&c.opsListen, "ops-listen", "127.0.0.1:9080", "address of health, metrics and profiles `host:port`")
	fs.StringVar(&c.redisURL, "redis-url", "redis://127.0.0.1:6379/0", "Redis `url`")
	fs.StringVar(&c.natsURL, "nats-url", "nats://127.0.0.1:4222", "NATS `url`")
	fs.StringVar(&c.jwtKey, "jwt-hs256", "", "`secret` that buyers' tokens are signed with (HS256)")
	fs.StringVar(&c.jwtIssuer, "jwt-issuer", "", "`issuer` that tokens must name")
	fs.StringVar(&c.jwtAudience, "jwt-audience", "", "`audience` that tokens must name")
	fs.StringVar(&c.ticketKey, "ticket-key", "", "`secret` that tickets are signed with; the same on every gateway")
	fs.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.IntVar(&c.redisPool, "redis-pool", 32, "most connections to Redis")
	fs.DurationVar(&c.redisTimeout, "redis-timeout", 300*time.Millisecond, "of one call to Redis")
	fs.DurationVar(&c.refresh, "refresh", time.Second, "period in which every sale's state is read again")
	fs.DurationVar(&c.horizon, "warm-horizon", 24*time.Hour, "sales that open within it must be loaded before this gateway is ready")
	fs.DurationVar(&c.drain, "drain", 2*time.Second, "time to serve on after SIGTERM while unready")
	fs.IntVar(&c.maxConnections, "max-connections", 20000, "most public connections")
	fs.DurationVar(&c.funnel.PublishTimeout, "publish-timeout", 2*time.Second, "from the start of a reserve call to its hand-over's acknowledgement")
	fs.IntVar(&c.funnel.BatchSize, "reserve-batch", 256, "most attempts in one reserve call")
	fs.IntVar(&c.funnel.InFlight, "reserve-in-flight", 1, "reserve calls of one sale at a time")
	fs.IntVar(&c.funnel.LineLength, "reserve-line", 4096, "most attempts of one sale that wait for a reserve call")
	fs.IntVar(&c.funnel.TotalLine, "reserve-line-total", 16384, "the same for all sales together")
	fs.Float64Var(&c.funnel.AdmitRate, "admit-rate", 0, "attempts a second let through to Redis; 0 is unlimited")
	fs.Float64Var(&c.funnel.AdmitSaleRate, "admit-sale-rate", 0, "the same for each sale")
	fs.DurationVar(&c.funnel.AdmitWait, "admit-wait", 200*time.Millisecond, "most time that an attempt waits to be let through")
	fs.DurationVar(&c.funnel.InstantBudget, "instant-budget", time.Second, "most time that an instant sale's attempt waits for its outcome")
	fs.Float64Var(&c.address.Rate, "address-rate", 50, "attempts a second of one client address; 0 is unlimited")
	fs.IntVar(&c.address.Burst, "address-burst", 100, "attempts at once of one client address")
	fs.IntVar(&c.address.Clients, "address-clients", 100_000, "client addresses remembered")
	fs.IntVar(&c.waiters, "ticket-waiters", 10_000, "most reads of tickets that wait at a time")
	if err := service.Parse(fs, args, getenv); err != nil {
		return c, err
	}
	return c, c.check()
}

func (c config) check() error {
	switch {
	case len(c.jwtKey) < 32:
		return service.UsageErrorf("-jwt-hs256 (SLUICE_JWT_HS256) must have at least 32 bytes, has %d", len(c.jwtKey))
	case c.jwtIssuer == "":
		return service.UsageErrorf("-jwt-issuer (SLUICE_JWT_ISSUER) is missing: name the issuer of the buyers' tokens")
	case c.jwtAudience == "":
		return service.UsageErrorf("-jwt-audience (SLUICE_JWT_AUDIENCE) is missing: name the audience of the buyers' tokens")
	case len(c.ticketKey) < 32:
		return service.UsageErrorf("-ticket-key (SLUICE_TICKET_KEY) must have at least 32 bytes, has %d", len(c.ticketKey))
	case c.redisPool < 1:
		return service.UsageErrorf("-redis-pool (SLUICE_REDIS_POOL) must be at least 1, is %d", c.redisPool)
	case c.waiters < 0:
		return service.UsageErrorf("-ticket-waiters (SLUICE_TICKET_WAITERS) must not be negative, is %d", c.waiters)
	case c.maxConnections < 1:
		return service.UsageErrorf("-max-connections (SLUICE_MAX_CONNECTIONS) must be at least 1, is %d", c.maxConnections)
	case c.redisTimeout <= 0 || c.refresh <= 0:
		return service.UsageErrorf("-redis-timeout (SLUICE_REDIS_TIMEOUT) and -refresh (SLUICE_REFRESH) must be positive")
	}
	if err := errors.Join(c.funnel.Check(), c.address.Check()); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return nil
}
