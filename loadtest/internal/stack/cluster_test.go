package stack

import (
	"strings"
	"testing"
)

func TestStart_ClusteredStoresHaveNoProxies(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Config){
		func(c *Config) { c.Proxied = []string{"redis"} },
		func(c *Config) { c.Apart = []string{"nats"} },
		func(c *Config) { c.RedisReplica = true },
		func(c *Config) { c.Stores.NATSStore = t.TempDir() },
	} {
		config := fakeConfig(t, "sales: []", "")
		config.Cluster = true
		change(&config)
		if _, err := Start(within(t), config); err == nil || !strings.Contains(err.Error(), "clustered stores") {
			t.Errorf("%+v starts: %v", config, err)
		}
	}
}

func TestStoreInfo_NamesEveryServer(t *testing.T) {
	t.Parallel()
	if got := (StoreInfo{PID: 1, Others: []int{2, 3}}).PIDs(); len(got) != 3 || got[0] != 1 || got[2] != 3 {
		t.Errorf("%v", got)
	}
}
