package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// A new version comes in the order of docs/upgrade.md: the schema, workers, gateways. What a
// command of the README applies is what its selector leaves of the overlay.
func TestKubernetes_ANewVersionComesInOrder(t *testing.T) {
	t.Parallel()
	_, steps, begins := strings.Cut(readFile(t, "README.md"), "name it in `kustomization.yaml`, and leave `sales.yaml` as it is.")
	steps, _, ends := strings.Cut(steps, "Back is the other way round")
	if !begins || !ends {
		t.Fatal("the README does not say how a new version comes")
	}
	want := []string{
		"delete sluice-warmup", "apply sluice-warmup", "wait sluice-warmup",
		"apply sluice-worker", "wait sluice-worker", "apply sluice-gateway", "wait sluice-gateway",
	}
	for _, overlay := range overlays() {
		if got := build(t, overlay).steps(t, steps); !slices.Equal(got, want) {
			t.Errorf("%s: the README's order is\n%q, want\n%q", overlay, got, want)
		}
	}
}

// steps are what commands do to Deployments and jobs; one that is applied again is the same.
func (c cluster) steps(t *testing.T, commands string) (done []string) {
	t.Helper()
	for _, command := range regexp.MustCompile(`kubectl ([^&\n]+)`).FindAllStringSubmatch(commands, -1) {
		words := command[1]
		if named := regexp.MustCompile(`(?:job|deployment)[/ ](\S+)`).FindStringSubmatch(words); named != nil {
			does := "wait "
			if strings.Contains(words, " delete ") {
				does = "delete "
			}
			done = append(done, does+named[1])
			continue
		}
		for _, name := range c.applied(t, words) {
			if one := "apply " + name; !slices.Contains(done, one) {
				done = append(done, one)
			}
		}
	}
	return done
}

// applied are the Deployments and jobs that a kubectl apply -k is about.
func (c cluster) applied(t *testing.T, words string) (names []string) {
	t.Helper()
	arguments, found := strings.CutPrefix(words, "apply -k .")
	text := strings.Trim(strings.TrimPrefix(strings.TrimSpace(arguments), "-l "), "'")
	selector, err := labels.Parse(text)
	if !found || err != nil {
		t.Fatalf("kubectl %s: %v", words, err)
	}
	for name, d := range c.deployments {
		if selector.Matches(labelsOf(d.Labels)) {
			names = append(names, name)
		}
	}
	for name, j := range c.jobs {
		if selector.Matches(labelsOf(j.Labels)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
