package deploy

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v4"
)

// load reads docker-compose.yml as an engine would, with this environment.
func load(t *testing.T, env map[string]string) (*types.Project, error) {
	t.Helper()
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	o, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithEnv(list))
	if err != nil {
		t.Fatal(err)
	}
	return o.LoadProject(t.Context())
}

// madeEnv is the environment that deploy/env.sh makes.
func madeEnv(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), ".env")
	if out, err := exec.CommandContext(t.Context(), "./env.sh", file).CombinedOutput(); err != nil {
		t.Fatalf("env.sh: %v\n%s", err, out)
	}
	return variablesOf(t, file)
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := load(t, madeEnv(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ours are the services that run a program of Sluice.
func ours(p *types.Project) map[string]types.ServiceConfig {
	found := map[string]types.ServiceConfig{}
	for name, s := range p.Services {
		if s.Build != nil {
			found[name] = s
		}
	}
	return found
}

func TestCompose_IsValidAndItsFilesAreThere(t *testing.T) {
	t.Parallel()
	p := project(t)
	want := []string{"apply", "doctor", "gateway-1", "gateway-2", "grafana", "migrate", "nats", "open", "postgres", "prometheus", "proxy", "redis", "worker-1", "worker-2"}
	if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
				t.Errorf("%s: mounts %s: %v, read only %v", name, v.Source, err, v.ReadOnly)
			}
		}
	}
}

func TestCompose_RefusesToStartWithoutASecret(t *testing.T) {
	t.Parallel()
	made := madeEnv(t)
	example := variablesOf(t, root, ".env.example")
	for name, value := range example {
		if value == "" && len(made[name]) != 64 {
			t.Errorf("env.sh makes %s %q", name, made[name])
		}
		without := maps.Clone(made)
		without[name] = ""
		if _, err := load(t, without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	file := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "./env.sh", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "is there already") {
		t.Errorf("secrets that are there: %v\n%s", err, out)
	}
}

// Every variable that the file reads is explained in the example, with the same default,
// and no other.
func TestCompose_EveryVariableIsExplained(t *testing.T) {
	t.Parallel()
	explained := variablesOf(t, root, ".env.example")
	for line := range strings.Lines(readFile(t, root, ".env.example")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && regexp.MustCompile(`^#[A-Z0-9_]+$`).MatchString(name) {
			explained[name[1:]] = value
		}
	}
	read := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(:-|:\?)([^}]*)\}`).FindAllStringSubmatch(readFile(t, root, "docker-compose.yml"), -1) {
		read[m[1]] = true
		value, ok := explained[m[1]]
		if !ok || m[2] == ":-" && value != m[3] {
			t.Errorf("%s is read with %q, and explained (%v) with %q", m[1], m[0], ok, value)
		}
	}
	for name := range explained {
		if !read[name] {
			t.Errorf("%s is explained and not read", name)
		}
	}
}

func TestCompose_ProgramsTakeWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	for name, s := range ours(project(t)) {
		if strings.HasSuffix(name, "-2") {
			continue // as the first is
		}
		wantTaken(t, name, s.Command, slices.Collect(maps.Keys(s.Environment)))
		if s.HealthCheck != nil {
			if s.HealthCheck.Test[0] != "CMD" {
				t.Errorf("%s: the image has no shell for %v", name, s.HealthCheck.Test)
			}
			wantTaken(t, name+"'s health check", s.HealthCheck.Test[1:], nil)
		}
	}
}

// pinned are images of exact versions; Postgres's have two numbers.
var pinned = regexp.MustCompile(`^([a-z/]+:v?\d+\.\d+\.\d+|postgres:\d+\.\d+)(-[a-z]+)?$`)

func TestCompose_EveryContainerIsPinnedAndConfined(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		if s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %s is of no exact version", name, s.Image)
		}
		user, _, _ := strings.Cut(s.User, ":")
		if user == "" || user == "0" && name != "nats" {
			t.Errorf("%s: user %q", name, s.User)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: read only %v, capabilities dropped %v added %v, %v", name, s.ReadOnly, s.CapDrop, s.CapAdd, s.SecurityOpt)
		}
		if s.Restart != "no" && s.HealthCheck == nil {
			t.Errorf("%s has no health check", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: published at %q, not at loopback by default", name, port.HostIP)
			}
		}
	}
	if version := makeVariable(t, "NATS_SERVER_VERSION"); !strings.Contains(p.Services["nats"].Image, ":"+strings.TrimPrefix(version, "v")+"-") {
		t.Errorf("nats is %s, tests use %s", p.Services["nats"].Image, version)
	}
}

func makeVariable(t *testing.T, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `\s*:?=\s*(\S+)`).FindStringSubmatch(readFile(t, root, "Makefile"))
	if m == nil {
		t.Fatalf("the Makefile has no %s", name)
	}
	return m[1]
}

// While keys change both are in .env, and so is what stands in front of the proxy.
func TestCompose_HandsOverOldKeysAndFurtherProxies(t *testing.T) {
	t.Parallel()
	env := madeEnv(t)
	env["SLUICE_JWT_HS256_OLD"], env["SLUICE_WEBHOOK_KEY_OLD"] = strings.Repeat("j", 32), strings.Repeat("w", 32)
	env["SLUICE_MORE_TRUSTED_PROXIES"] = "203.0.113.7,2001:db8::/32"
	p, err := load(t, env)
	if err != nil {
		t.Fatal(err)
	}
	proxies := p.Services["proxy"].Networks["front"].Ipv4Address + ",203.0.113.7,2001:db8::/32"
	ofGateway := map[string]string{"SLUICE_JWT_HS256_OLD": env["SLUICE_JWT_HS256_OLD"], "SLUICE_TRUSTED_PROXIES": proxies}
	ofWorker := map[string]string{"SLUICE_JWT_HS256_OLD": env["SLUICE_JWT_HS256_OLD"], "SLUICE_WEBHOOK_KEY_OLD": env["SLUICE_WEBHOOK_KEY_OLD"]}
	for name, want := range map[string]map[string]string{"gateway-1": ofGateway, "gateway-2": ofGateway, "worker-1": ofWorker, "worker-2": ofWorker} {
		for variable, value := range want {
			if got := p.Services[name].Environment[variable]; got == nil || *got != value {
				t.Errorf("%s: %s is not %q", name, variable, value)
			}
		}
	}
}

// What waits for a job waits for its success, what waits for health waits for a check; and
// nobody starts before the schema and the sales are there.
func TestCompose_JobsGateTheOpening(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		for on, d := range s.DependsOn {
			job := p.Services[on].Restart == "no"
			if job != (d.Condition == types.ServiceConditionCompletedSuccessfully) || d.Condition == types.ServiceConditionHealthy && p.Services[on].HealthCheck == nil {
				t.Errorf("%s waits for %s to be %s", name, on, d.Condition)
			}
		}
	}
	for _, before := range []string{"redis", "nats", "postgres", "migrate", "doctor", "apply", "gateway-1", "gateway-2", "worker-1", "worker-2", "open"} {
		if !waitsFor(p, "proxy", before) {
			t.Errorf("the proxy starts before %s", before)
		}
	}
}

func waitsFor(p *types.Project, name, before string) bool {
	for on := range p.Services[name].DependsOn {
		if on == before || waitsFor(p, on, before) {
			return true
		}
	}
	return false
}

func TestCompose_GatewaysCannotReachPostgresAndBelieveTheProxyAlone(t *testing.T) {
	t.Parallel()
	p := project(t)
	shared := func(a, b string) (names []string) {
		for name := range p.Services[a].Networks {
			if _, both := p.Services[b].Networks[name]; both {
				names = append(names, name)
			}
		}
		return names
	}
	front := p.Networks["front"].Ipam.Config[0]
	address, subnet, dynamic := netip.MustParseAddr(p.Services["proxy"].Networks["front"].Ipv4Address), netip.MustParsePrefix(front.Subnet), netip.MustParsePrefix(front.IPRange)
	if !subnet.Contains(address) || dynamic.Contains(address) || !subnet.Overlaps(dynamic) {
		t.Errorf("the proxy has %s, in %s of which others are given %s", address, subnet, dynamic)
	}
	for _, gateway := range []string{"gateway-1", "gateway-2"} {
		s := p.Services[gateway]
		if with := shared(gateway, "postgres"); len(with) > 0 || s.Environment["SLUICE_POSTGRES_URL"] != nil {
			t.Errorf("%s reaches Postgres by %v", gateway, with)
		}
		// By another network the proxy would come from another address.
		if with := shared(gateway, "proxy"); !slices.Equal(with, []string{"front"}) {
			t.Errorf("%s and the proxy share %v", gateway, with)
		}
		if got := *s.Environment["SLUICE_TRUSTED_PROXIES"]; got != address.String() {
			t.Errorf("%s believes %s, the proxy is %s", gateway, got, address)
		}
	}
	for _, closed := range []string{"stores", "database"} {
		if !p.Networks[closed].Internal {
			t.Errorf("network %s leads out", closed)
		}
	}
}

// The file that Grafana is given is there, under the path that its provider looks at, and
// the source of data is the Prometheus of the file.
func TestCompose_GrafanaAndPrometheusAreProvisioned(t *testing.T) {
	t.Parallel()
	p := project(t)
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	var sources struct{ Datasources []struct{ URL, Type string } }
	for file, into := range map[string]any{"dashboards/sluice.yml": &dashboards, "datasources/prometheus.yml": &sources} {
		if err := yaml.Unmarshal([]byte(readFile(t, "grafana", "provisioning", file)), into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	grafana := p.Services["grafana"]
	mounted := slices.ContainsFunc(grafana.Volumes, func(v types.ServiceVolumeConfig) bool {
		return filepath.Dir(v.Target) == dashboards.Providers[0].Options.Path && strings.HasSuffix(v.Source, "deploy/grafana/sluice.json")
	})
	if home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]; !mounted || filepath.Dir(home) != dashboards.Providers[0].Options.Path {
		t.Errorf("the dashboard is not where %s is looked for; home is %s", dashboards.Providers[0].Options.Path, home)
	}
	if d := sources.Datasources[0]; d.URL != "http://prometheus:9090" || d.Type != "prometheus" {
		t.Errorf("source of data %+v", d)
	}
	wantScraped(t, p)
}

// wantScraped wants Prometheus to read the ops listener of every gateway and worker.
func wantScraped(t *testing.T, p *types.Project) {
	t.Helper()
	var config struct {
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "prometheus", "prometheus.yml")), &config); err != nil {
		t.Fatal(err)
	}
	scraped := map[string]string{} // target to job
	for _, c := range config.ScrapeConfigs {
		for _, target := range c.StaticConfigs[0].Targets {
			scraped[target] = c.JobName
		}
	}
	for name, s := range ours(p) {
		ops := s.Environment["SLUICE_OPS_LISTEN"]
		if ops == nil {
			continue
		}
		kind, _, _ := strings.Cut(name, "-")
		if target := name + strings.TrimPrefix(*ops, "0.0.0.0"); scraped[target] != "sluice-"+kind {
			t.Errorf("%s is scraped as %q", target, scraped[target])
		}
	}
	out, err := exec.CommandContext(t.Context(), "../bin/promtool", "check", "config", "prometheus/prometheus.yml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool (make setup): %v\n%s", err, out)
	}
}
