package deploy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// shutdown is how long a gateway finishes what is in flight, and a worker answers.
const shutdown = 10 * time.Second

// probePaths are the paths that probes ask, which the tests of docker-compose.yml ask too.
func probePaths(t *testing.T) map[string]bool {
	t.Helper()
	paths := map[string]bool{}
	for _, d := range build(t, "single").deployments {
		c := d.Spec.Template.Spec.Containers[0]
		for _, p := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			paths[p.HTTPGet.Path] = true
		}
	}
	return paths
}

func TestKubernetes_ProbesAskTheOpsListenerAndTheDrainHasTime(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		c := build(t, overlay)
		for name, d := range c.deployments {
			spec := d.Spec.Template.Spec
			container := spec.Containers[0]
			given := c.variables(t, overlay, container)
			for port, listen := range map[string]string{"http": "SLUICE_LISTEN", "ops": "SLUICE_OPS_LISTEN"} {
				if want := "0.0.0.0:" + strconv.Itoa(int(portOf(container, port))); given[listen] != want {
					t.Errorf("%s: %s listens at %s, port %s is %s", overlay, name, given[listen], port, want)
				}
			}
			for path, p := range map[string]*core.Probe{"/startupz": container.StartupProbe, "/readyz": container.ReadinessProbe, "/livez": container.LivenessProbe} {
				if p.HTTPGet.Path != path || p.HTTPGet.Port != intstr.FromString("ops") {
					t.Errorf("%s: %s: probe %+v, want %s", overlay, name, p.HTTPGet, path)
				}
			}
			drain, err := time.ParseDuration(given["SLUICE_DRAIN"])
			if err != nil {
				t.Fatal(err)
			}
			sleep := time.Duration(container.Lifecycle.PreStop.Sleep.Seconds) * time.Second
			if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; grace < sleep+drain+shutdown || sleep+drain < 5*time.Second {
				t.Errorf("%s: %s is killed after %s: preStop %s, drain %s", overlay, name, grace, sleep, drain)
			}
			if d.Spec.Replicas != nil {
				t.Errorf("%s: %s has replicas, which its scaler would fight over", overlay, name)
			}
		}
	}
}

// portOf is a container's port by its name; 0 when there is none.
func portOf(c core.Container, name string) int32 {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// Whatever selects pods, or names a service, a port or a Deployment, finds it.
func TestKubernetes_WhatIsNamedIsThere(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		c := build(t, overlay)
		for name, s := range c.services {
			pods := c.selected(t, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
			for _, port := range s.Spec.Ports {
				if len(pods) != 1 || portOf(pods[0].template.Spec.Containers[0], port.TargetPort.StrVal) == 0 {
					t.Errorf("%s: service %s port %s leads to %d pods or no port", overlay, name, port.Name, len(pods))
				}
			}
		}
		for name, b := range c.budgets {
			if len(c.selected(t, b.Spec.Selector)) != 1 || b.Spec.MaxUnavailable.IntVal != 1 {
				t.Errorf("%s: budget %s", overlay, name)
			}
		}
		for name, d := range c.deployments {
			for _, selector := range []*meta.LabelSelector{d.Spec.Selector, d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector, d.Spec.Template.Spec.TopologySpreadConstraints[1].LabelSelector} {
				if pods := c.selected(t, selector); len(pods) != 1 || pods[0].name != name {
					t.Errorf("%s: %s selects %v", overlay, name, pods)
				}
			}
			if c.budgets[name] == nil {
				t.Errorf("%s: %s has no budget", overlay, name)
			}
			wantSpread(t, overlay, name, d.Spec.Template.Spec.TopologySpreadConstraints)
		}
		for name, i := range c.ingresses {
			for _, path := range i.Spec.Rules[0].HTTP.Paths {
				s := c.services[path.Backend.Service.Name]
				if s == nil || !slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == path.Backend.Service.Port.Name }) {
					t.Errorf("%s: ingress %s: %s leads to nobody", overlay, name, path.Path)
				}
			}
		}
		if to := c.gatewayScaling["sluice-gateway"].Spec.ScaleTargetRef; to.Kind != "Deployment" || c.deployments[to.Name] == nil {
			t.Errorf("%s: scales %+v", overlay, to)
		}
		if to := c.workerScaling["sluice-worker"].Spec.ScaleTargetRef; to.Kind != "Deployment" || c.deployments[to.Name] == nil {
			t.Errorf("%s: scales %+v", overlay, to)
		}
		c.wantMonitored(t, overlay)
	}
}

// wantSpread wants a rule that may leave a pod without a node to look only at nodes that take
// pods, and at pods of one version. Else an empty node that is tainted allows one pod on every
// other.
func wantSpread(t *testing.T, overlay, name string, rules []core.TopologySpreadConstraint) {
	t.Helper()
	for _, r := range rules {
		if r.WhenUnsatisfiable != core.DoNotSchedule {
			continue
		}
		if r.NodeTaintsPolicy == nil || *r.NodeTaintsPolicy != core.NodeInclusionPolicyHonor || !slices.Equal(r.MatchLabelKeys, []string{"pod-template-hash"}) {
			t.Errorf("%s: %s may find no node by %s: nodeTaintsPolicy %v, matchLabelKeys %v", overlay, name, r.TopologyKey, r.NodeTaintsPolicy, r.MatchLabelKeys)
		}
	}
}

// wantMonitored wants one service each of gateways and workers to be scraped, under a name
// that the rules look at.
func (c cluster) wantMonitored(t *testing.T, overlay string) {
	t.Helper()
	m := c.monitors["sluice"]
	s, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var scraped []string
	for name, service := range c.services {
		if s.Matches(labelsOf(service.Labels)) {
			scraped = append(scraped, name)
		}
	}
	slices.Sort(scraped)
	if !slices.Equal(scraped, []string{"sluice-gateway", "sluice-worker"}) || m.Spec.Endpoints[0].Port != "ops" || m.Spec.Endpoints[0].Interval != "5s" {
		t.Errorf("%s: scraped are %v by %+v", overlay, scraped, m.Spec.Endpoints)
	}
}

// The job waits for as many gateways as there are at least, and asks for the overlay's level.
func TestKubernetes_TheJobGatesTheOpening(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		c := build(t, overlay)
		spec := c.jobs["sluice-warmup"].Spec.Template.Spec
		var steps []string
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			steps = append(steps, container.Args[0])
		}
		if want := []string{"migrate", "doctor", "apply", "load", "verify", "wait"}; !slices.Equal(steps, want) {
			t.Errorf("%s: steps %v, want %v", overlay, steps, want)
		}
		wait := spec.Containers[0].Args
		if least := strconv.Itoa(int(*c.gatewayScaling["sluice-gateway"].Spec.MinReplicas)); argument(wait, "-addresses") != least {
			t.Errorf("%s: waits for %s gateways, there are %s", overlay, argument(wait, "-addresses"), least)
		}
		host, port, _ := strings.Cut(strings.TrimPrefix(argument(wait, "-gateways"), "http://"), ":")
		if s := c.services[host]; s == nil || s.Spec.ClusterIP != core.ClusterIPNone || !s.Spec.PublishNotReadyAddresses || strconv.Itoa(int(s.Spec.Ports[0].Port)) != port {
			t.Errorf("%s: %s is no name of every gateway", overlay, host)
		}
		if level := argument(spec.InitContainers[1].Args, "-require"); level != overlay {
			t.Errorf("%s: the doctor asks for %s", overlay, level)
		}
	}
}

// argument is the value after a flag.
func argument(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// As many workers as KEDA may start, and one that a rolling update ends, fit into Postgres.
func TestKubernetes_WorkersFitIntoPostgres(t *testing.T) {
	t.Parallel()
	const (
		ofOthers = 20 // jobs, people, the superuser
		fixed    = 10 // of a worker: 5 beside -rebuilds, 3 that compare, 2 of alerts
		ending   = 1  // what wantOneByOne leaves
	)
	for _, overlay := range overlays() {
		c := build(t, overlay)
		d := c.deployments["sluice-worker"]
		wantOneByOne(t, overlay, d.Spec)
		given := c.variables(t, overlay, d.Spec.Template.Spec.Containers[0])
		each := fixed
		for _, flag := range []string{"SLUICE_POSTGRES_CONNS", "SLUICE_POSTGRES_BUYER_CONNS", "SLUICE_POSTGRES_OPERATOR_CONNS", "SLUICE_REBUILDS"} {
			n, err := strconv.Atoi(given[flag])
			if err != nil {
				t.Fatal(err)
			}
			each += n
		}
		scaling := c.workerScaling["sluice-worker"]
		connections, err := strconv.Atoi(scaling.Metadata.Annotations["sluice/postgres-max-connections"])
		if err != nil {
			t.Fatal(err)
		}
		if most := (connections-ofOthers)/each - ending; scaling.Spec.MaxReplicaCount != most || scaling.Spec.MinReplicaCount > most || scaling.Spec.Fallback.Replicas > most {
			t.Errorf("%s: %d to %d workers of %d connections, %d more in an update, in %d: at most %d", overlay, scaling.Spec.MinReplicaCount, scaling.Spec.MaxReplicaCount, each, ending, connections, most)
		}
	}
}

// wantOneByOne wants a rolling update to have one pod at most that ends beside those that there
// are to be. Pods that end are not counted, so only the time until the next one is told to end
// holds them down: it must be as long as the one before may take.
func wantOneByOne(t *testing.T, overlay string, d apps.DeploymentSpec) {
	t.Helper()
	update := d.Strategy.RollingUpdate
	if update.MaxSurge.String() != "0" || update.MaxUnavailable.String() != "1" || int64(d.MinReadySeconds) < *d.Template.Spec.TerminationGracePeriodSeconds {
		t.Errorf("%s: in an update %s are started and %s ended at a time, the next after %d s; one has %d s to end", overlay, update.MaxSurge, update.MaxUnavailable, d.MinReadySeconds, *d.Template.Spec.TerminationGracePeriodSeconds)
	}
}

// Every pod is under a policy that lets it out to named ports only; Postgres's is not among
// a gateway's.
func TestKubernetes_GatewaysCannotReachPostgres(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		c := build(t, overlay)
		all := c.policies["sluice-nobody"].Spec
		if len(all.PolicyTypes) != 2 || len(all.Ingress)+len(all.Egress) > 0 || len(c.selected(t, &all.PodSelector)) != len(c.pods()) {
			t.Errorf("%s: what is not allowed is not forbidden: %+v", overlay, all)
		}
		for name, p := range c.policies {
			for _, rule := range p.Spec.Ingress {
				c.wantPorts(t, overlay, name, p, rule.Ports)
			}
		}
		out := c.allowed(t, overlay)
		for name, ports := range map[string][]int{"sluice-gateway": {53, 53, 4222, 6379, 26379}, "sluice-worker": {53, 53, 443, 4222, 5432, 6379, 26379}} {
			if slices.Sort(out[name]); !slices.Equal(out[name], ports) {
				t.Errorf("%s: %s may go to %v, want %v", overlay, name, out[name], ports)
			}
		}
		for variable := range c.variables(t, overlay, c.deployments["sluice-gateway"].Spec.Template.Spec.Containers[0]) {
			if strings.Contains(variable, "POSTGRES") {
				t.Errorf("%s: a gateway is told %s", overlay, variable)
			}
		}
	}
}

// allowed are the ports that pods may go out to, by policy.
func (c cluster) allowed(t *testing.T, overlay string) map[string][]int {
	t.Helper()
	out := map[string][]int{}
	for name, p := range c.policies {
		for _, rule := range p.Spec.Egress {
			if len(rule.Ports) == 0 {
				t.Errorf("%s: %s lets out to every port", overlay, name)
			}
			for _, port := range rule.Ports {
				out[name] = append(out[name], port.Port.IntValue())
			}
		}
	}
	return out
}

// wantPorts wants the ports that a policy names to be of the pods that it is about.
func (c cluster) wantPorts(t *testing.T, overlay, name string, p *networking.NetworkPolicy, ports []networking.NetworkPolicyPort) {
	t.Helper()
	pods := c.selected(t, &p.Spec.PodSelector)
	for _, port := range ports {
		if len(pods) != 1 || portOf(pods[0].template.Spec.Containers[0], port.Port.StrVal) == 0 {
			t.Errorf("%s: policy %s: port %s of %d pods", overlay, name, port.Port.String(), len(pods))
		}
	}
}

// runKubernetesJob runs the job's steps but the last, which looks names up, on the stores of
// the engine.
func (e *engine) runKubernetesJob() {
	e.t.Helper()
	c := build(e.t, "single")
	spec := c.jobs["sluice-warmup"].Spec.Template.Spec
	password := *e.project.Services["postgres"].Environment["POSTGRES_PASSWORD"]
	for _, container := range spec.InitContainers {
		words := slices.Concat(container.Command, container.Args)
		for i, word := range words {
			words[i] = strings.Replace(word, "/etc/sluice/", "/sales/", 1) // where the file has them
		}
		cmd := e.command("apply", words)
		cmd.Env = cmd.Env[:1]
		given := c.variables(e.t, "single", container)
		for _, name := range slices.Sorted(maps.Keys(given)) {
			value := e.here("apply", strings.NewReplacer(":PASSWORD@redis", "redis", "sluice:PASSWORD@nats", "nats", "PASSWORD", password).Replace(given[name]))
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			e.t.Errorf("kubernetes job, %s: %v\n%s", container.Name, err, out)
		}
	}
}
