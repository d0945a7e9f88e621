package main

import (
	"flag"
	"time"

	"sluice/shared/service"
	"sluice/worker/internal/fulfil"
)

// config is what a worker can be told, by flags or by the environment.
type config struct {
	listen, opsListen       string
	redisURL, natsURL       string
	postgresURL             string
	jwtKey                  string
	jwtIssuer, jwtAudience  string
	adminToken              string
	logLevel                string
	postgresConns           int
	redisPool               int
	redisTimeout, statement time.Duration
	drain                   time.Duration
	fulfil                  fulfil.Config
}

func parse(args []string, getenv func(string) string) (config, error) {
	var c config
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8090", "address `host:port` for buyers' orders")
	fs.StringVar(&c.opsListen, "ops-listen", "127.0.0.1:9081", "address `host:port` of health, metrics and profiles")
	fs.StringVar(&c.redisURL, "redis-url", "redis://127.0.0.1:6379/0", "Redis `url`")
	fs.StringVar(&c.natsURL, "nats-url", "nats://127.0.0.1:4222", "NATS `url`")
	fs.StringVar(&c.postgresURL, "postgres-url", "", "Postgres `url`")
	fs.StringVar(&c.jwtKey, "jwt-hs256", "", "`secret` that buyers' tokens are signed with (HS256)")
	fs.StringVar(&c.jwtIssuer, "jwt-issuer", "", "`issuer` that tokens must name")
	fs.StringVar(&c.jwtAudience, "jwt-audience", "", "`audience` that tokens must name")
	fs.StringVar(&c.adminToken, "admin-token", "", "bearer `secret` for profiles; without it nobody gets them")
	fs.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.IntVar(&c.postgresConns, "postgres-conns", 8, "most connections to Postgres")
	fs.IntVar(&c.redisPool, "redis-pool", 16, "most connections to Redis")
	fs.DurationVar(&c.redisTimeout, "redis-timeout", 300*time.Millisecond, "of one call to Redis")
	fs.DurationVar(&c.statement, "statement-timeout", 5*time.Second, "of one statement in Postgres")
	fs.DurationVar(&c.drain, "drain", time.Second, "time to answer buyers on after SIGTERM while unready")
	fs.DurationVar(&c.fulfil.AckWait, "ack-wait", 10*time.Second, "after which a dead worker's hand-overs are delivered to others; renewed while at work")
	fs.DurationVar(&c.fulfil.SweepAfter, "sweep-after", 5*time.Second, "age in handoff after which a reservation is handed over again; must exceed the gateways' publish timeout")
	fs.DurationVar(&c.fulfil.StopWithin, "stop-within", 10*time.Second, "most time for the batch in hand after SIGTERM")
	if err := service.Parse(fs, args, getenv); err != nil {
		return c, err
	}
	return c, c.check()
}

func (c config) check() error {
	switch {
	case c.postgresURL == "":
		return service.UsageErrorf("-postgres-url (SLUICE_POSTGRES_URL) is missing: orders are kept there")
	case len(c.jwtKey) < 32:
		return service.UsageErrorf("-jwt-hs256 (SLUICE_JWT_HS256) must have at least 32 bytes, has %d", len(c.jwtKey))
	case c.jwtIssuer == "":
		return service.UsageErrorf("-jwt-issuer (SLUICE_JWT_ISSUER) is missing: name the issuer of the buyers' tokens")
	case c.jwtAudience == "":
		return service.UsageErrorf("-jwt-audience (SLUICE_JWT_AUDIENCE) is missing: name the audience of the buyers' tokens")
	case c.postgresConns < 2:
		return service.UsageErrorf("-postgres-conns (SLUICE_POSTGRES_CONNS) must be at least 2, is %d", c.postgresConns)
	case c.redisPool < 1:
		return service.UsageErrorf("-redis-pool (SLUICE_REDIS_POOL) must be at least 1, is %d", c.redisPool)
	case c.redisTimeout <= 0 || c.statement < time.Millisecond:
		return service.UsageErrorf("-redis-timeout (SLUICE_REDIS_TIMEOUT) and -statement-timeout (SLUICE_STATEMENT_TIMEOUT) must be positive")
	case c.fulfil.AckWait < time.Second:
		return service.UsageErrorf("-ack-wait (SLUICE_ACK_WAIT) must be at least 1s, is %s", c.fulfil.AckWait)
	case c.fulfil.SweepAfter <= 0 || c.fulfil.StopWithin <= 0 || c.drain < 0:
		return service.UsageErrorf("-sweep-after (SLUICE_SWEEP_AFTER) and -stop-within (SLUICE_STOP_WITHIN) must be positive, -drain (SLUICE_DRAIN) not negative")
	}
	return nil
}
