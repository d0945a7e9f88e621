package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// paths are what a program's OpenAPI document describes of its public listener.
func paths(t *testing.T, program string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^  (/\S*):$`).FindAllStringSubmatch(readFile(t, root, program, "internal", "httpapi", "openapi.yaml"), -1) {
		if strings.HasPrefix(m[1], "/v1/") || m[1] == "/" {
			all = append(all, m[1])
		}
	}
	return all
}

// The proxy and the ingress send what workers serve to workers, and the rest to gateways.
func TestRoutes_LeadToWhoServesThem(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^ *acl of_workers path_beg (.*)$`).FindStringSubmatch(readFile(t, "proxy", "haproxy.cfg"))
	if line == nil {
		t.Fatal("haproxy.cfg has no rule for workers")
	}
	routes := map[string][]string{"haproxy": strings.Fields(line[1])}
	for _, overlay := range overlays() {
		for _, path := range build(t, overlay).ingresses["sluice"].Spec.Rules[0].HTTP.Paths {
			if path.Backend.Service.Name == "sluice-worker" {
				routes[overlay] = append(routes[overlay], path.Path)
			}
		}
	}
	for where, prefixes := range routes {
		toWorker := func(path string) bool {
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		}
		for _, path := range paths(t, "worker") {
			if !toWorker(path) {
				t.Errorf("%s: %s is not sent to workers, who serve it", where, path)
			}
		}
		for _, path := range paths(t, "gateway") {
			if toWorker(path) {
				t.Errorf("%s: %s is sent to workers, gateways serve it", where, path)
			}
		}
	}
	if len(paths(t, "worker")) == 0 || len(paths(t, "gateway")) == 0 {
		t.Error("the documents have no paths")
	}
}
