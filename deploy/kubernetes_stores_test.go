package deploy

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"sluice/shared/redisstock"
)

// The URLs in the examples are of forms that the programs take, and lead to as many servers
// as the overlay's level has.
func TestKubernetes_StoresAreNamedAsProgramsReadThem(t *testing.T) {
	t.Parallel()
	for overlay, servers := range map[string]int{"single": 1, "ha": 2} {
		stores := variablesOf(t, "kubernetes", "overlays", overlay, "stores.env.example")
		stock, err := redisstock.Open(redisstock.Config{URL: stores["SLUICE_REDIS_URL"], PoolSize: 1})
		if err != nil {
			t.Errorf("%s: %v", overlay, err)
		} else if err := stock.Close(); err != nil {
			t.Error(err)
		}
		config, err := pgx.ParseConfig(stores["SLUICE_POSTGRES_URL"])
		if err != nil {
			t.Errorf("%s: %v", overlay, err)
			continue
		}
		hosts := map[string]bool{config.Host: true}
		for _, f := range config.Fallbacks {
			hosts[f.Host] = true
		}
		if len(hosts) != servers || servers > 1 && config.ValidateConnect == nil {
			t.Errorf("%s: Postgres is at %v, any of them will do: %v", overlay, hosts, config.ValidateConnect == nil)
		}
	}
}
