package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
)

// best is an installation that earns everything.
func best() Facts {
	servers := []string{"a", "b", "c"}
	return Facts{
		Redis: []redisstock.Settings{{Version: "7.4.1", AppendOnly: "yes", AppendFsync: "everysec", LastWrite: "ok", MaxMemoryPolicy: "noeviction", Replicas: 1, MinReplicas: 1}},
		NATS: jetqueue.Settings{Version: "2.15.3", Streams: []jetqueue.StreamSettings{
			{Name: "SLUICE_ORDERS", File: true, Replicas: 3, InStep: 3, Servers: servers}, {Name: "SLUICE_PAYMENTS", File: true, Replicas: 3, InStep: 3, Servers: servers},
			{Name: "KV_SLUICE_SALES", File: true, Replicas: 3, InStep: 3, Servers: servers}}},
		Servers:  []NATSServer{{"a", true}, {"b", true}, {"c", true}},
		Postgres: pgstore.Settings{Version: 150004, Fsync: "on", FullPageWrites: "on", SynchronousCommit: "on", SyncStandbyNames: "*", SyncStandbys: 1},
		Skew:     map[string]time.Duration{"postgres": time.Millisecond},
	}
}

// cluster is three masters that earn everything.
func cluster() []redisstock.Settings {
	masters := make([]redisstock.Settings, 3)
	for i := range masters {
		masters[i] = best().Redis[0]
		masters[i].Node, masters[i].FullCoverage = fmt.Sprintf("redis-%d:6379", i), "no"
	}
	return masters
}

func TestExamine_NamesTheServerOfACluster(t *testing.T) {
	t.Parallel()
	facts := best()
	facts.Redis = cluster()
	facts.Redis[1].MaxMemoryPolicy, facts.Redis[2].MinReplicas = "allkeys-lru", 0
	checks := Examine(facts)
	failed := slices.DeleteFunc(checks, func(c Check) bool { return c.Pass })
	if len(failed) != 2 || failed[0].Name != "maxmemory-policy of redis-1:6379" || failed[1].Name != "min-replicas-to-write of redis-2:6379" {
		t.Errorf("failed: %+v", failed)
	}
}

func TestExamine_SaysWhatAFailoverLeaves(t *testing.T) {
	t.Parallel()
	for left, replicas := range map[string]int{"none: there is nobody to take over": 0, "0, min-replicas-to-write 1: sales wait": 1, "1, enough to go on": 2} {
		facts := best()
		facts.Redis[0].Replicas = replicas
		checks := Examine(facts)
		at := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "replicas after a failover" })
		if at < 0 || !strings.HasPrefix(checks[at].Found, left) {
			t.Errorf("%d replicas: %+v", replicas, checks)
		}
	}
}

func TestExamine_EverySettingCountsForItsLevel(t *testing.T) {
	t.Parallel()
	if got := Earned(Examine(best())); got != HA {
		t.Fatalf("the best earns %s: %+v", got, Missing(Examine(best()), got))
	}
	for name, tc := range map[string]struct {
		spoil func(*Facts)
		want  Level
	}{
		"old redis":                    {func(f *Facts) { f.Redis[0].Version = "6.2.14" }, None},
		"scripts refused":              {func(f *Facts) { f.Scripts = errors.New("NOPERM") }, None},
		"no append only file":          {func(f *Facts) { f.Redis[0].AppendOnly = "no" }, Dev},
		"append only file with errors": {func(f *Facts) { f.Redis[0].LastWrite = "err" }, Dev},
		"appendfsync no":               {func(f *Facts) { f.Redis[0].AppendFsync = "no" }, Dev},
		"appendfsync always":           {func(f *Facts) { f.Redis[0].AppendFsync = "always" }, HA},
		"eviction":                     {func(f *Facts) { f.Redis[0].MaxMemoryPolicy = "allkeys-lru" }, Dev},
		"a limit of memory":            {func(f *Facts) { f.Redis[0].MaxMemory = 1 << 30 }, HA},
		"no replica":                   {func(f *Facts) { f.Redis[0].Replicas = 0 }, Single},
		"min-replicas 0":               {func(f *Facts) { f.Redis[0].MinReplicas = 0 }, Single},
		"one master of three behind":   {func(f *Facts) { f.Redis = cluster(); f.Redis[1].AppendOnly = "no" }, Dev},
		"full coverage wanted":         {func(f *Facts) { f.Redis = cluster(); f.Redis[2].FullCoverage = "yes" }, Single},
		"a cluster":                    {func(f *Facts) { f.Redis = cluster() }, HA},
		"config hidden":                {func(f *Facts) { f.Redis[0].Unreadable = errors.New("NOPERM") }, Dev},
		"old nats":                     {func(f *Facts) { f.NATS.Version = "2.9.10" }, None},
		"nats 2.14":                    {func(f *Facts) { f.NATS.Version = "2.14.0-RC.1" }, HA},
		"nats 3":                       {func(f *Facts) { f.NATS.Version = "3.0.0" }, HA},
		"nonsense for a version":       {func(f *Facts) { f.NATS.Version = "dev" }, None},
		"no streams":                   {func(f *Facts) { f.NATS.Streams = nil }, None},
		"stream in memory":             {func(f *Facts) { f.NATS.Streams[0].File = false }, Dev},
		"no stream of payments":        {func(f *Facts) { f.NATS.Streams = slices.Delete(f.NATS.Streams, 1, 2) }, None},
		"payments in memory":           {func(f *Facts) { f.NATS.Streams[1].File = false }, Dev},
		"catalogue in memory":          {func(f *Facts) { f.NATS.Streams[2].File = false }, Dev},
		"one copy of payments":         {func(f *Facts) { f.NATS.Streams[1].InStep = 2 }, Single},
		"one copy":                     {func(f *Facts) { f.NATS.Streams[0].InStep = 1 }, Single},
		"nobody says about sync":       {func(f *Facts) { f.Servers = nil }, Dev},
		"one server does not sync":     {func(f *Facts) { f.Servers[1].SyncAlways = false }, Dev},
		"one server is silent":         {func(f *Facts) { f.Silent = []error{errors.New("a does not answer")} }, Dev},
		"one server is not named":      {func(f *Facts) { f.Servers = f.Servers[:2] }, Dev},
		"old postgres":                 {func(f *Facts) { f.Postgres.Version = 140010 }, None},
		"a standby":                    {func(f *Facts) { f.Postgres.InRecovery = true }, None},
		"no schema":                    {func(f *Facts) { f.Schema = errors.New("run warmup migrate") }, None},
		"no fsync":                     {func(f *Facts) { f.Postgres.Fsync = "off" }, Dev},
		"torn pages":                   {func(f *Facts) { f.Postgres.FullPageWrites = "off" }, Dev},
		"commit off":                   {func(f *Facts) { f.Postgres.SynchronousCommit = "off" }, Dev},
		"commit local":                 {func(f *Facts) { f.Postgres.SynchronousCommit = "local" }, Single},
		"commit remote_write":          {func(f *Facts) { f.Postgres.SynchronousCommit = "remote_write" }, Single},
		"commit remote_apply":          {func(f *Facts) { f.Postgres.SynchronousCommit = "remote_apply" }, HA},
		"no standby named":             {func(f *Facts) { f.Postgres.SyncStandbyNames = "" }, Single},
		"no standby there":             {func(f *Facts) { f.Postgres.SyncStandbys = 0 }, Single},
		"standbys hidden":              {func(f *Facts) { f.Postgres.StandbysHidden = true }, Single},
		"redis clock ahead":            {func(f *Facts) { f.Redis[0].Now = f.Redis[0].Answered.Add(3 * time.Second) }, Dev},
		"postgres clock behind":        {func(f *Facts) { f.Skew["postgres"] = -3 * time.Second }, Dev},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := best()
			tc.spoil(&facts)
			checks := Examine(facts)
			got := Earned(checks)
			missing := Missing(checks, got)
			if got != tc.want || got != HA && len(missing) == 0 {
				t.Errorf("earns %s, want %s; missing %v", got, tc.want, missing)
			}
			if slices.ContainsFunc(missing, func(c Check) bool { return c.Missing == "" || c.Found == "" }) {
				t.Errorf("does not say what to do: %+v", missing)
			}
		})
	}
}
