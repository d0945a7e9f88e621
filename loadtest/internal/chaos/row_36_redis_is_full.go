package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisIsFull: out of memory before the first write of a script, or not at all.
func redisIsFull() Row {
	return Row{
		ID: "36", Name: "redis-is-full", Short: true, Bound: 15 * time.Second,
		Fault:  "an operator has Redis evict what it has no room for, and takes that back; then it has reached its maxmemory, and evicts nothing",
		Expect: "warmup doctor names the policy that evicts; 503 before anything is written; nothing is half taken",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			client, err := r.redisClient()
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }() // it only set a limit
			if err := r.wantEvictionRefused(ctx, client); err != nil {
				return err
			}
			before, refusals := r.load.unknown.Load(), outOfMemory(ctx, client)
			r.inject()
			if err := client.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
				return fmt.Errorf("cannot limit the memory of Redis: %w", err)
			}
			limited := r.journal.Now()
			full := r.until(ctx, hitPatience, "attempts are left without a certain answer", func() bool { return r.load.unknown.Load() >= before+50 })
			r.wantUnavailable(limited, r.journal.Now(), "Redis was full")
			refusals = outOfMemory(ctx, client) - refusals
			if err := client.ConfigSet(context.WithoutCancel(ctx), "maxmemory", "0").Err(); err != nil {
				return fmt.Errorf("cannot free the memory of Redis: %w", err)
			}
			if full != nil {
				return full
			}
			r.heal()
			if refusals <= 0 {
				return fmt.Errorf("%w Redis refused a command for want of memory", errNot)
			}
			r.hit(refusals, "Redis refused %d commands for want of memory", refusals)
			return r.recovered(ctx)
		},
	}
}

// outOfMemory is how many commands Redis has refused for want of memory; 0 when it cannot say.
func outOfMemory(ctx context.Context, client redis.UniversalClient) (refused int) {
	info, err := client.InfoMap(ctx, "errorstats").Result()
	if err != nil {
		return 0
	}
	count := strings.TrimPrefix(info["Errorstats"]["errorstat_OOM"], "count=")
	refused, _ = strconv.Atoi(count) // there is none before the first
	return refused
}

// wantEvictionRefused wants warmup doctor to name a policy that evicts, and none that does not.
func (r *Round) wantEvictionRefused(ctx context.Context, client redis.UniversalClient) (err error) {
	const setting, right, wrong = "maxmemory-policy", "noeviction", "allkeys-lru"
	defer func() { err = errors.Join(err, client.ConfigSet(context.WithoutCancel(ctx), setting, right).Err()) }()
	for policy, missing := range map[string]bool{right: false, wrong: true} {
		if err := client.ConfigSet(ctx, setting, policy).Err(); err != nil {
			return fmt.Errorf("cannot set the policy of Redis: %w", err)
		}
		_ = r.stack.Warmup(ctx, "doctor", "-require", "single") // NATS here has no monitoring: it is refused in any case
		said, err := os.ReadFile(filepath.Join(r.dir, "logs", "warmup-doctor.log"))
		if err != nil {
			return fmt.Errorf("cannot read what warmup doctor says: %w", err)
		}
		if named := bytes.Contains(said, []byte("redis "+setting+": set "+setting+" "+right)); named != missing {
			r.fail("I8", "with %s %s of Redis warmup doctor names it: %t", setting, policy, named)
		}
		r.hit(0, "with %s %s warmup doctor names it: %t", setting, policy, missing)
	}
	return nil
}
