package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
)

// unknown is what a check found that nobody could make: it counts as not passed.
const unknown = "cannot be verified"

func redisChecks(f Facts) []Check {
	checks := []Check{{Store: storeRedis, Name: "scripts", Level: Dev, Pass: f.Scripts == nil, Found: orError(f.Scripts, "can be loaded and run"),
		Missing: "allow this user EVALSHA, EVAL, SCRIPT LOAD and the commands that scripts call, INFO and TIME among them"}}
	for _, r := range f.Redis {
		checks = append(checks, redisServerChecks(r)...)
	}
	return checks
}

// on names a cluster's server behind what was checked there; there is nothing to name when
// there is one server.
func on(r redisstock.Settings) string {
	if r.Node == "" {
		return ""
	}
	return " of " + r.Node
}

func redisServerChecks(r redisstock.Settings) []Check {
	checks := []Check{
		{Name: "version", Level: Dev, Pass: atLeast(r.Version, 7, 0), Found: r.Version, Missing: "run Redis 7.0 or newer"},
		{Name: "appendonly", Level: Single, Pass: r.AppendOnly == "yes" && r.LastWrite != "err",
			Found: strings.TrimSuffix(r.AppendOnly+", last write "+r.LastWrite, ", last write "), Missing: "set appendonly yes"},
		{Name: "appendfsync", Level: Single, Pass: r.AppendFsync == "everysec" || r.AppendFsync == "always", Found: r.AppendFsync,
			Missing: "set appendfsync everysec or always"},
		{Name: "maxmemory-policy", Level: Single, Pass: r.MaxMemoryPolicy == "noeviction", Found: r.MaxMemoryPolicy,
			Missing: "set maxmemory-policy noeviction: any other lets Redis drop tickets and stock"},
		{Name: "maxmemory", Pass: true, Found: memory(r.MaxMemory)},
		{Name: "replicas", Level: HA, Pass: r.Replicas >= 1, Found: strconv.Itoa(r.Replicas) + " in step", Missing: "attach a replica"},
		{Name: "replicas after a failover", Pass: true, Found: afterFailover(r)},
		{Name: "min-replicas-to-write", Level: HA, Pass: r.MinReplicas >= 1, Found: strconv.FormatInt(r.MinReplicas, 10),
			Missing: "set min-replicas-to-write 1: a server cut off from its replicas must refuse writes"},
	}
	if r.Node != "" {
		checks = append(checks, Check{Name: "cluster-require-full-coverage", Level: HA, Pass: r.FullCoverage == "no", Found: r.FullCoverage,
			Missing: "set cluster-require-full-coverage no: one shard that is away must not stop the sales of the others"})
	}
	for i, c := range checks {
		if r.Unreadable != nil && slices.Contains(configured, c.Name) {
			checks[i].Pass, checks[i].Found = c.Level == None, unknown
			checks[i].Missing = "let this user run CONFIG GET, or check by hand: " + c.Missing
		}
		checks[i].Store, checks[i].Name = storeRedis, c.Name+on(r)
	}
	return checks
}

// configured are the checks that need CONFIG GET.
var configured = []string{"appendonly", "appendfsync", "maxmemory-policy", "maxmemory", "min-replicas-to-write", "cluster-require-full-coverage"}

// afterFailover says what becomes of writes once a replica has taken this server's place.
func afterFailover(r redisstock.Settings) string {
	left := r.Replicas - 1
	switch {
	case left < 0:
		return "none: there is nobody to take over"
	case int64(left) < r.MinReplicas:
		return fmt.Sprintf("%d, min-replicas-to-write %d: sales wait until a replica is back; one more per master, or a spare one in the cluster, and they do not", left, r.MinReplicas)
	default:
		return fmt.Sprintf("%d, enough to go on", left)
	}
}

func memory(limit int64) string {
	if limit == 0 {
		return "no limit; set one below what the machine has, so that a full Redis refuses instead of being killed"
	}
	return fmt.Sprintf("%d MiB", limit>>20)
}

// streams are those of hand-overs, of payment events and of the catalogue.
const streams = 3

func natsChecks(f Facts) []Check {
	n := f.NATS
	checks := []Check{{Store: storeNATS, Name: "version", Level: Dev, Pass: atLeast(n.Version, 2, 14), Found: n.Version, Missing: "run nats-server 2.14 or newer"}}
	if len(n.Streams) < streams {
		checks = append(checks, Check{Store: storeNATS, Name: "streams", Level: Dev, Found: "missing", Missing: "run warmup migrate"})
	}
	for _, s := range n.Streams {
		checks = append(checks,
			Check{Store: storeNATS, Name: s.Name + " storage", Level: Single, Pass: s.File, Found: storage(s), Missing: "make the stream again with file storage"},
			Check{Store: storeNATS, Name: s.Name + " replicas", Level: HA, Pass: s.InStep >= 3, Found: fmt.Sprintf("%d, %d in step", s.Replicas, s.InStep),
				Missing: "run a cluster of three servers, and warmup migrate -stream-replicas 3"})
	}
	return append(checks, syncCheck(f), Check{Store: storeNATS, Name: "servers", Pass: true, Found: named(n.Known)})
}

// named is a remark: whether one address leads to every server nobody here can know.
func named(servers int) string {
	if servers == 1 {
		return "1 in the URL; name all of a cluster, unless this address follows the one that is up"
	}
	return fmt.Sprintf("%d in the URL", servers)
}

func storage(s jetqueue.StreamSettings) string {
	if s.File {
		return "file"
	}
	return "memory"
}

// syncCheck asks whether the servers that keep the streams sync before they
// acknowledge. Clients are not told; only the servers' monitoring says.
func syncCheck(f Facts) Check {
	c := Check{Store: storeNATS, Name: "sync_interval", Level: Single, Pass: true, Found: "always",
		Missing: "set sync_interval: always in the jetstream block of every server: by default acknowledged messages wait two minutes for the disk"}
	if len(f.Servers) == 0 {
		c.Pass, c.Found = false, unknown+" over a client's connection"
		c.Missing = "name the servers' monitoring with -nats-monitor (SLUICE_NATS_MONITOR); " + c.Missing
		return c
	}
	seen := map[string]bool{}
	for _, server := range f.Servers {
		seen[server.Name] = true
		if !server.SyncAlways {
			c.Pass, c.Found = false, "not always on server "+server.Name
		}
	}
	if c.Pass && len(f.Silent) > 0 {
		c.Pass, c.Found, c.Missing = false, unknown+": "+f.Silent[0].Error(), "start that server, or see why its monitoring does not answer"
	}
	for _, s := range f.NATS.Streams {
		for _, name := range s.Servers {
			if c.Pass && !seen[name] {
				c.Pass, c.Found = false, unknown+" of server "+name+", which keeps "+s.Name
				c.Missing = "name that server's monitoring too with -nats-monitor (SLUICE_NATS_MONITOR)"
			}
		}
	}
	return c
}

func postgresChecks(f Facts) []Check {
	p := f.Postgres
	commit := p.SynchronousCommit
	standbys := strconv.Itoa(p.SyncStandbys) + " synchronous"
	if p.StandbysHidden {
		standbys = unknown + ": grant this role pg_monitor"
	}
	return []Check{
		{Store: storePostgres, Name: "version", Level: Dev, Pass: p.Version >= 150000, Found: strconv.Itoa(p.Version / 10000), Missing: "run PostgreSQL 15 or newer"},
		{Store: storePostgres, Name: "servers", Pass: true, Found: named(p.Hosts)},
		{Store: storePostgres, Name: "primary", Level: Dev, Pass: !p.InRecovery, Found: yesNo(!p.InRecovery), Missing: "name the primary: this is a standby"},
		{Store: storePostgres, Name: "migrations", Level: Dev, Pass: f.Schema == nil, Found: orError(f.Schema, "applied"), Missing: "run warmup migrate"},
		{Store: storePostgres, Name: "fsync", Level: Single, Pass: p.Fsync == "on", Found: p.Fsync, Missing: "set fsync = on"},
		{Store: storePostgres, Name: "full_page_writes", Level: Single, Pass: p.FullPageWrites == "on", Found: p.FullPageWrites, Missing: "set full_page_writes = on"},
		{Store: storePostgres, Name: "synchronous_commit", Level: Single, Pass: commit != "off", Found: commit, Missing: "set synchronous_commit = on"},
		{Store: storePostgres, Name: "synchronous_commit of standbys", Level: HA, Pass: commit == "on" || commit == "remote_apply", Found: commit,
			Missing: "set synchronous_commit = on: others do not wait for a standby's disk"},
		{Store: storePostgres, Name: "synchronous_standby_names", Level: HA, Pass: p.SyncStandbyNames != "", Found: orElse(p.SyncStandbyNames, "none"),
			Missing: "name a standby in synchronous_standby_names"},
		{Store: storePostgres, Name: "standbys", Level: HA, Pass: p.SyncStandbys >= 1 && !p.StandbysHidden, Found: standbys,
			Missing: "attach a standby that synchronous_standby_names names"},
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func orError(err error, fine string) string {
	if err != nil {
		return err.Error()
	}
	return fine
}

// atLeast compares a version such as 7.0.15 or 2.14.0-RC.1.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	x, errX := strconv.Atoi(parts[0])
	y, errY := strconv.Atoi(parts[1])
	return errX == nil && errY == nil && (x > major || x == major && y >= minor)
}
