package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/redisstock"
	"sluice/shared/service"
	"sluice/warmup/internal/doctor"
)

// installation is servers of a test's own.
func installation(t *testing.T, o devstack.Options) map[string]string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stack, err := devstack.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]string{"SLUICE_REDIS_URL": stack.Redis.URL(), "SLUICE_NATS_URL": stack.NATS.URL(), "SLUICE_POSTGRES_URL": stack.Postgres.URL()}
}

// wants runs doctor and compares the level and what it says is missing.
func (b *bench) wants(level string, missing []string, args ...string) {
	b.t.Helper()
	out, err := b.try(append([]string{"doctor"}, args...)...)
	if !strings.Contains(out, "level: "+level+"\n") {
		b.t.Errorf("doctor %v: %v, want level %s\n%s", args, err, level, out)
	}
	_, list, _ := strings.Cut(out, "\nmissing for ")
	if got := strings.Count(list, "\n  "); got != len(missing) {
		b.t.Errorf("doctor %v: %d things are missing, want %d\n%s", args, got, len(missing), out)
	}
	for _, what := range missing {
		if !strings.Contains(list, what) {
			b.t.Errorf("doctor %v does not say that %q is missing\n%s", args, what, out)
		}
	}
}

func TestDoctor_GoodSettingsEarnSingle(t *testing.T) {
	t.Parallel()
	monitor, err := devstack.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = monitor.Release() })
	b := &bench{t: t, vars: installation(t, devstack.Options{NATSMonitor: monitor.Addr()})}
	b.refuse("earn level none, dev is required", "doctor")
	b.wants("none", []string{"nats streams: run warmup migrate", "postgres migrations: run warmup migrate"})
	b.run("migrate")
	b.run("doctor")
	b.wants("dev", []string{"nats sync_interval: name the servers' monitoring with -nats-monitor (SLUICE_NATS_MONITOR)"}, "-require", "dev")
	b.refuse("earn level dev, single is required", "doctor", "-require", "single")
	b.vars["SLUICE_NATS_MONITOR"] = "http://" + monitor.Addr()
	b.run("doctor", "-require", "single")
	b.wants("single", []string{"redis replicas", "redis min-replicas-to-write", "nats SLUICE_ORDERS replicas", "nats SLUICE_PAYMENTS replicas", "nats KV_SLUICE_SALES replicas",
		"postgres synchronous_standby_names", "postgres standbys"}, "-require", "single")
	b.refuse("earn level single, ha is required", "doctor", "-require", "ha")
	for _, args := range [][]string{{"-require", "none"}, {"-require", "gold"}, {"-nats-monitor", "here"}, {"-timeout", "0s"}, {"-postgres-url", ""}} {
		if _, err := b.try(append([]string{"doctor"}, args...)...); !errors.Is(err, service.ErrUsage) {
			t.Errorf("doctor %v: %v", args, err)
		}
	}
	b.refuse("does not answer", "doctor", "-nats-monitor", "http://127.0.0.1:1")
}

func TestDoctor_BadSettingsAreNamed(t *testing.T) {
	t.Parallel()
	monitor, err := devstack.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = monitor.Release() })
	b := &bench{t: t, vars: installation(t, devstack.Options{
		NATSMonitor: monitor.Addr(), NATSSync: "2m",
		RedisArgs:        []string{"--appendonly", "no", "--appendfsync", "no", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"},
		PostgresSettings: []string{"synchronous_commit=off", "full_page_writes=off", "fsync=off"},
	})}
	b.run("migrate")
	b.wants("dev", []string{"redis appendonly: set appendonly yes", "redis appendfsync", "redis maxmemory-policy: set maxmemory-policy noeviction",
		"nats sync_interval: set sync_interval: always", "postgres fsync", "postgres full_page_writes", "postgres synchronous_commit"},
		"-nats-monitor", "http://"+monitor.Addr())
}

func TestDoctor_WhatMayNotBeReadIsNotEarned(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, vars: installation(t, devstack.Options{RedisArgs: []string{"--user", "sluice", "on", ">word", "~*", "&*", "+@all", "-config"}})}
	b.run("migrate")
	b.vars["SLUICE_REDIS_URL"] = strings.Replace(b.vars["SLUICE_REDIS_URL"], "redis://", "redis://sluice:word@", 1)
	b.wants("dev", []string{"redis appendonly: let this user run CONFIG GET, or check by hand", "redis appendfsync", "redis maxmemory-policy", "nats sync_interval"})
}

func TestDoctor_RedisReplicaCounts(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, vars: installation(t, devstack.Options{RedisArgs: []string{"--min-replicas-to-write", "1", "--repl-diskless-sync-delay", "0"}})}
	host, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(b.vars["SLUICE_REDIS_URL"], "redis://"), "/0"), ":")
	replica, err := devstack.StartRedis(t.Context(), devstack.Options{RedisArgs: []string{"--replicaof", host, port}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replica.Close(); err != nil {
			t.Error(err)
		}
	})
	b.run("migrate")
	deadline := time.Now().Add(30 * time.Second)
	for {
		out, err := b.try("doctor")
		if err == nil && strings.Contains(out, "1 in step") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, out)
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.wants("dev", []string{"nats sync_interval"})
}

func TestDoctor_ChecksEveryMasterOfAClusterByName(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, vars: installation(t, devstack.Options{})}
	cluster, err := devstack.StartRedisCluster(t.Context(), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	b.vars["SLUICE_REDIS_URL"] = cluster.URL()
	b.run("migrate")
	odd, err := redisstock.Connect(cluster.Servers()[1].URL(), 0) // a master
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = odd.Close() })
	addr := strings.TrimSuffix(strings.TrimPrefix(cluster.Servers()[1].URL(), "redis://"), "/0")
	for name, value := range map[string]string{"maxmemory-policy": "allkeys-lru", "cluster-require-full-coverage": "yes"} {
		if err := odd.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.wants("dev", []string{"redis maxmemory-policy of " + addr + ": set maxmemory-policy noeviction", "nats sync_interval"})
	if err := odd.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
		t.Fatal(err)
	}
	out := b.run("doctor")
	for _, want := range []string{"cluster-require-full-coverage of " + addr, "replicas after a failover of " + addr, "sales wait until a replica is back"} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
}

// What survives the loss of any one store, and what is said once one of its parts is away.
func TestDoctor_ReplicatedStoresEarnHA(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	redis, err := devstack.StartRedis(ctx, devstack.Options{RedisArgs: []string{"--min-replicas-to-write", "1", "--repl-diskless-sync-delay", "0"}})
	must(err)
	t.Cleanup(func() { _ = redis.Close() })
	host, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(redis.URL(), "redis://"), "/0"), ":")
	replica, err := devstack.StartRedis(ctx, devstack.Options{RedisArgs: []string{"--replicaof", host, port}})
	must(err)
	t.Cleanup(func() { _ = replica.Close() })
	cluster, err := devstack.StartNATSCluster(ctx, devstack.Options{})
	must(err)
	t.Cleanup(func() { _ = cluster.Close() })
	pair, err := devstack.StartPostgresPair(ctx, devstack.Options{})
	must(err)
	t.Cleanup(func() { _ = pair.Close() })
	b := &bench{t: t, vars: map[string]string{"SLUICE_REDIS_URL": redis.URL(), "SLUICE_NATS_URL": cluster.URL(), "SLUICE_POSTGRES_URL": pair.URL(),
		"SLUICE_NATS_MONITOR": strings.Join(cluster.Monitors(), ",")}}
	inTime := func(what string, ok func(out string, err error) bool) {
		t.Helper()
		for {
			out, err := b.try("doctor", "-require", "ha")
			if ok(out, err) {
				t.Logf("%s:\n%s", what, out)
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: %v\n%s", what, err, out)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	says := func(missing string) func(string, error) bool {
		return func(out string, err error) bool {
			return err != nil && strings.Contains(out, "level: single\n") && strings.Contains(out, "  "+missing)
		}
	}
	b.run("migrate")
	inTime("one replica", says("nats SLUICE_ORDERS replicas"))
	b.run("migrate", "-stream-replicas", "3")
	inTime("everything", func(out string, err error) bool { return err == nil && strings.Contains(out, "level: ha\n") })
	must(pair.Standby().Kill())
	inTime("no standby", says("postgres standbys"))
	must(pair.Standby().Restart(ctx))
	inTime("the standby is back", func(_ string, err error) bool { return err == nil })
	must(cluster.Servers()[0].Kill())
	inTime("a NATS server is away", func(out string, err error) bool {
		return err != nil && strings.Count(out, "FAIL    3, 2 in step") == 3 && strings.Contains(out, "  nats sync_interval: start that server")
	})
}

func TestAskMonitors_OneThatNeverAnswersHidesNoOther(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	healthy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"server_name": "n2", "jetstream": {"config": {"sync_always": true}}}`)
	}))
	defer healthy.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*monitorWithin)
	defer cancel()
	servers, missing, err := askMonitors(ctx, []string{"http://" + silent.Addr().String(), healthy.URL})
	if err != nil || !slices.Equal(servers, []doctor.NATSServer{{Name: "n2", SyncAlways: true}}) {
		t.Errorf("found %+v: %v", servers, err)
	}
	if len(missing) != 1 || !strings.Contains(missing[0].Error(), silent.Addr().String()) {
		t.Errorf("missing: %v", missing)
	}
}
