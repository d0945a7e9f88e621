package deploy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func overlays() []string { return []string{"single", "ha"} }

// cluster is what an overlay makes, by name.
type cluster struct {
	deployments    map[string]*apps.Deployment
	jobs           map[string]*batch.Job
	services       map[string]*core.Service
	configMaps     map[string]*core.ConfigMap
	budgets        map[string]*policy.PodDisruptionBudget
	policies       map[string]*networking.NetworkPolicy
	ingresses      map[string]*networking.Ingress
	gatewayScaling map[string]*autoscaling.HorizontalPodAutoscaler
	workerScaling  map[string]*scaledObject
	monitors       map[string]*monitoring.ServiceMonitor
	rules          map[string]*monitoring.PrometheusRule
	namespaces     map[string]*core.Namespace
}

// build builds an overlay as kubectl apply -k does, and decodes every document into the Go
// type of its kind; a field that the type does not have fails.
func build(t *testing.T, overlay string) cluster {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("kubernetes", "overlays", overlay))
	if err != nil {
		t.Fatal(err)
	}
	var c cluster
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		kind := resource.GetApiVersion() + " " + resource.GetKind()
		name := resource.GetName()
		switch kind {
		case "apps/v1 Deployment":
			decode(t, kind, name, text, &c.deployments)
		case "batch/v1 Job":
			decode(t, kind, name, text, &c.jobs)
		case "v1 Service":
			decode(t, kind, name, text, &c.services)
		case "v1 ConfigMap":
			decode(t, kind, name, text, &c.configMaps)
		case "policy/v1 PodDisruptionBudget":
			decode(t, kind, name, text, &c.budgets)
		case "networking.k8s.io/v1 NetworkPolicy":
			decode(t, kind, name, text, &c.policies)
		case "networking.k8s.io/v1 Ingress":
			decode(t, kind, name, text, &c.ingresses)
		case "autoscaling/v2 HorizontalPodAutoscaler":
			decode(t, kind, name, text, &c.gatewayScaling)
		case "keda.sh/v1alpha1 ScaledObject":
			c.workerScaling = map[string]*scaledObject{name: readScaledObject(t, text)}
		case "monitoring.coreos.com/v1 ServiceMonitor":
			decode(t, kind, name, text, &c.monitors)
		case "monitoring.coreos.com/v1 PrometheusRule":
			decode(t, kind, name, text, &c.rules)
		case "v1 Namespace":
			decode(t, kind, name, text, &c.namespaces)
		default: // a Secret too: they are made by the operator, and referred to
			t.Errorf("%s: %s %s is not expected", overlay, kind, name)
		}
		if namespace := resource.GetNamespace(); kind != "v1 Namespace" && namespace != "sluice" {
			t.Errorf("%s: %s %s is in namespace %q", overlay, kind, name, namespace)
		}
	}
	return c
}

func decode[T any](t *testing.T, kind, name string, text []byte, into *map[string]*T) {
	t.Helper()
	one := new(T)
	if err := decodeStrictly(text, one); err != nil {
		t.Errorf("%s %s: %v", kind, name, err)
	}
	if *into == nil {
		*into = map[string]*T{}
	}
	(*into)[name] = one
}

// decodeStrictly decodes as an API server does that validates fields: names are exact, none
// is unknown, none is there twice.
func decodeStrictly(text []byte, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(asJSON, into)
	return errors.Join(append(strict, err)...)
}

// pod is the template of a Deployment or a Job.
type pod struct {
	name     string
	template core.PodTemplateSpec
}

func (c cluster) pods() (pods []pod) {
	for _, name := range slices.Sorted(maps.Keys(c.deployments)) {
		pods = append(pods, pod{name, c.deployments[name].Spec.Template})
	}
	for _, name := range slices.Sorted(maps.Keys(c.jobs)) {
		pods = append(pods, pod{name, c.jobs[name].Spec.Template})
	}
	return pods
}

// selected are the pods that a selector picks.
func (c cluster) selected(t *testing.T, selector *meta.LabelSelector) (pods []pod) {
	t.Helper()
	s, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.pods() {
		if s.Matches(labelsOf(p.template.Labels)) {
			pods = append(pods, p)
		}
	}
	return pods
}

// labelsOf are labels as selectors look at them.
type labelsOf map[string]string

func (l labelsOf) Has(label string) bool   { _, ok := l[label]; return ok }
func (l labelsOf) Get(label string) string { return l[label] }
func (l labelsOf) Lookup(label string) (value string, exists bool) {
	value, exists = l[label]
	return value, exists
}

func containersOf(p pod) []core.Container {
	return slices.Concat(p.template.Spec.InitContainers, p.template.Spec.Containers)
}

// variables are what a container's environment has, with the values that are known: those of
// ConfigMaps and of the files that the Secrets are made from.
func (c cluster) variables(t *testing.T, overlay string, container core.Container) map[string]string {
	t.Helper()
	secrets := map[string]map[string]string{
		"sluice-stores": variablesOf(t, "kubernetes", "overlays", overlay, "stores.env.example"),
		"sluice-keys":   variablesOf(t, "kubernetes", "overlays", overlay, "keys.env.example"),
	}
	all := map[string]string{}
	for _, from := range container.EnvFrom {
		switch {
		case from.ConfigMapRef != nil && c.configMaps[from.ConfigMapRef.Name] != nil:
			maps.Copy(all, c.configMaps[from.ConfigMapRef.Name].Data)
		case from.SecretRef != nil && secrets[from.SecretRef.Name] != nil:
			maps.Copy(all, secrets[from.SecretRef.Name])
		default:
			t.Errorf("%s: %s is given what is not there: %+v", overlay, container.Name, from)
		}
	}
	for _, v := range container.Env {
		all[v.Name] = v.Value
		if v.ValueFrom != nil {
			ref := v.ValueFrom.SecretKeyRef
			value, ok := secrets[ref.Name][ref.Key]
			if optional := ref.Optional != nil && *ref.Optional; !ok && !optional {
				t.Errorf("%s: Secret %s has no %s in the example", overlay, ref.Name, ref.Key)
			}
			all[v.Name] = value
		}
	}
	return all
}

func TestKubernetes_ProgramsTakeWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{} // what overlays have in common
	for _, overlay := range overlays() {
		c := build(t, overlay)
		for _, p := range c.pods() {
			for _, container := range containersOf(p) {
				given := c.variables(t, overlay, container)
				if container.Name != "doctor" { // the others pass it over
					delete(given, "SLUICE_NATS_MONITOR")
				}
				command, names := slices.Concat(container.Command, container.Args), slices.Sorted(maps.Keys(given))
				if one := fmt.Sprint(command, names); !asked[one] {
					asked[one] = true
					wantTaken(t, overlay+": "+p.name+": "+container.Name, command, names)
				}
			}
		}
	}
}

func TestKubernetes_PodsAreConfined(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		c := build(t, overlay)
		for _, p := range c.pods() {
			spec := p.template.Spec
			if s := spec.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != 65532 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || *spec.AutomountServiceAccountToken {
				t.Errorf("%s: %s: %+v", overlay, p.name, spec)
			}
			for _, container := range containersOf(p) {
				s := container.SecurityContext
				if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
					t.Errorf("%s: %s: %+v", overlay, container.Name, s)
				}
				if container.Resources.Requests.Cpu().IsZero() || container.Resources.Requests.Memory().IsZero() || container.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: %s has no resources", overlay, container.Name)
				}
				if !regexp.MustCompile(`^[a-z.]+/sluice:v\d+\.\d+\.\d+$`).MatchString(container.Image) {
					t.Errorf("%s: %s runs %s, of no exact version", overlay, container.Name, container.Image)
				}
			}
		}
		if level := c.namespaces["sluice"].Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("%s: the namespace enforces %q", overlay, level)
		}
	}
}

// secrets are kept out of the repository: manifests refer to them, examples have none, and
// the files that are filled in are ignored by git.
func TestKubernetes_HoldsNoSecret(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`(?i)(key|token|hs256|password)(_old)?$`)
	for _, overlay := range overlays() {
		c := build(t, overlay)
		for _, p := range c.pods() {
			for _, container := range containersOf(p) {
				for _, v := range container.Env {
					if v.ValueFrom == nil && (secret.MatchString(v.Name) || strings.HasSuffix(v.Name, "_URL")) {
						t.Errorf("%s: %s has %s in the open", overlay, container.Name, v.Name)
					}
				}
			}
		}
		for _, m := range c.configMaps {
			for name := range m.Data {
				if secret.MatchString(name) {
					t.Errorf("%s: ConfigMap %s has %s", overlay, m.Name, name)
				}
			}
		}
		for name, value := range variablesOf(t, "kubernetes", "overlays", overlay, "keys.env.example") {
			if value != "" {
				t.Errorf("%s: the example has a %s", overlay, name)
			}
		}
	}
	for _, file := range []string{"stores.env", "keys.env"} {
		if !strings.Contains(readFile(t, root, ".gitignore"), "/deploy/kubernetes/overlays/*/"+file+"\n") {
			t.Errorf("git does not ignore %s", file)
		}
	}
}

// The rule is made of the rules, and holds the same groups.
func TestKubernetes_RulesAreThoseOfPrometheus(t *testing.T) {
	t.Parallel()
	var want monitoring.PrometheusRuleSpec
	if err := decodeStrictly([]byte(readFile(t, "prometheus", "rules.yml")), &want); err != nil {
		t.Fatal(err)
	}
	wantText, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays() {
		got, err := yaml.Marshal(build(t, overlay).rules["sluice"].Spec)
		if err != nil || string(got) != string(wantText) || len(want.Groups) == 0 {
			t.Errorf("%s: the PrometheusRule differs from rules.yml: run deploy/kubernetes/components/monitoring/rule.sh (%v)", overlay, err)
		}
	}
}

func TestKubernetes_SalesAreTheExample(t *testing.T) {
	t.Parallel()
	want := readFile(t, root, "docs", "sales.yaml")
	for _, overlay := range overlays() {
		c := build(t, overlay)
		volume := c.jobs["sluice-warmup"].Spec.Template.Spec.Volumes[0]
		if m := c.configMaps[volume.ConfigMap.Name]; m == nil || m.Data["sales.yaml"] != want {
			t.Errorf("%s: sales.yaml is not docs/sales.yaml, which is tested", overlay)
		}
	}
}
