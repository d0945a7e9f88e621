package main

import (
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
	funnel                 funnel.Config
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
	case c.maxConnections < 1:
		return service.UsageErrorf("-max-connections (SLUICE_MAX_CONNECTIONS) must be at least 1, is %d", c.maxConnections)
	case c.redisTimeout <= 0 || c.refresh <= 0:
		return service.UsageErrorf("-redis-timeout (SLUICE_REDIS_TIMEOUT) and -refresh (SLUICE_REFRESH) must be positive")
	}
	if err := c.funnel.Check(); err != nil {
		return service.UsageErrorf("%v", err)
	}
	return nil
}
