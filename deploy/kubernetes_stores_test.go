package deploy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Whichever form a URL has, the policies let out to the port that it means when it names none,
// and to those of the examples.
func TestKubernetes_PoliciesLetOutToTheStores(t *testing.T) {
	t.Parallel()
	usual := map[string][]int{"redis": {6379}, "redis+cluster": {6379}, "redis+sentinel": {6379, 26379}, "nats": {4222}, "postgres": {5432}}
	for _, form := range regexp.MustCompile(`(redis[a-z+]*)://`).FindAllStringSubmatch(redisstock.URLForms, -1) {
		if usual[form[1]] == nil {
			t.Errorf("the port of %s:// is not looked for", form[1])
		}
	}
	if config, err := pgx.ParseConfig("postgres://host/sluice"); err != nil || int(config.Port) != usual["postgres"][0] {
		t.Errorf("Postgres is asked at %v (%v)", config, err)
	}
	for _, overlay := range overlays() {
		c := build(t, overlay)
		out := c.allowed(t, overlay)
		for _, p := range c.pods() {
			var ports []int
			for scheme, of := range usual {
				if scheme != "postgres" || p.name != "sluice-gateway" {
					ports = append(ports, of...)
				}
			}
			for _, container := range containersOf(p) {
				for name, value := range c.variables(t, overlay, container) {
					if name != "SLUICE_NATS_MONITOR" || container.Name == "doctor" {
						ports = append(ports, portsIn(t, name, value)...)
					}
				}
			}
			for _, port := range ports {
				if !slices.Contains(out[p.name], port) {
					t.Errorf("%s: %s cannot go out to port %d", overlay, p.name, port)
				}
			}
		}
	}
}

// portsIn are the ports that the variables of stores name.
func portsIn(t *testing.T, variable, value string) (ports []int) {
	t.Helper()
	if !strings.HasSuffix(variable, "_URL") && variable != "SLUICE_NATS_MONITOR" {
		return nil
	}
	for _, found := range regexp.MustCompile(`:(\d+)`).FindAllStringSubmatch(value, -1) {
		port, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

// Stores may be in the namespace: nothing there selects their pods.
func TestKubernetes_PoliciesLeaveStoresAlone(t *testing.T) {
	t.Parallel()
	store := labelsOf{"app.kubernetes.io/name": "redis", "app.kubernetes.io/part-of": "stores"}
	for _, overlay := range overlays() {
		for name, p := range build(t, overlay).policies {
			s, err := meta.LabelSelectorAsSelector(&p.Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			if s.Matches(store) || s.Matches(labelsOf{}) {
				t.Errorf("%s: policy %s cuts stores off", overlay, name)
			}
		}
	}
}
