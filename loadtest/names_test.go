package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"go.yaml.in/yaml/v4"

	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// rule is an alerting or recording rule for Prometheus.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) []rule {
	t.Helper()
	content, err := os.ReadFile("../deploy/prometheus/rules.yml")
	must(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	must(t, yaml.Unmarshal(content, &file))
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// Alerts that only Prometheus can see.
var ofPrometheus = []string{"NoWorker", "NoGateway", "ProcessDown", "AlertsNotDelivered"}

func TestRunbook_HasEveryAlertAndNoOther(t *testing.T) {
	t.Parallel()
	want := slices.Clone(ofPrometheus)
	for _, name := range sale.AlertNames() {
		want = append(want, string(name))
	}
	var rules []string
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		rules = append(rules, r.Alert)
		if slices.Contains(want[len(ofPrometheus):], r.Alert) && r.Labels["severity"] != sale.AlertName(r.Alert).Severity() {
			t.Errorf("%s has severity %q for Prometheus, and for workers %q", r.Alert, r.Labels["severity"], sale.AlertName(r.Alert).Severity())
		}
		if url := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != url || r.Annotations["summary"] == "" {
			t.Errorf("%s has annotations %v, want runbook_url %s and a summary", r.Alert, r.Annotations, url)
		}
	}
	content, err := os.ReadFile("../docs/runbook.md")
	must(t, err)
	var entries []string
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(content), -1) {
		entries = append(entries, heading[1])
	}
	for _, list := range [][]string{want, rules, entries} {
		slices.Sort(list)
	}
	if !slices.Equal(entries, want) || !slices.Equal(rules, want) {
		t.Errorf("the runbook has %v,\nthe rules are %v,\nwant %v", entries, rules, want)
	}
}

// exported are metrics by name, and the values of their labels.
type exported map[string]map[string]map[string]bool

func (e exported) add(metrics string) {
	pair := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	for _, m := range regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(metrics, -1) {
		if e[m[1]] == nil {
			e[m[1]] = map[string]map[string]bool{}
		}
		for _, label := range pair.FindAllStringSubmatch(m[2], -1) {
			if e[m[1]][label[1]] == nil {
				e[m[1]][label[1]] = map[string]bool{}
			}
			e[m[1]][label[1]][label[2]] = true
		}
	}
}

// byPrometheus are series that Prometheus makes itself.
func byPrometheus(rules []rule) exported {
	e := exported{"up": {"job": nil, "instance": nil}, "ALERTS": {"alertstate": {"firing": true, "pending": true}, "alertname": {}, "sale": nil}}
	for _, r := range rules {
		if r.Alert != "" {
			e["ALERTS"]["alertname"][r.Alert] = true
		} else {
			e[r.Record] = map[string]map[string]bool{"sale": nil}
		}
	}
	return e
}

// anyValue are labels whose values no program knows.
var anyValue = []string{"sale", "job", "instance"}

// unknown says what an expression asks for that nobody exports.
func (e exported) unknown(expr string) (unknown []string) {
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		return []string{err.Error()}
	}
	labels := map[string]bool{} // of all metrics in it
	var grouped []string
	metricsql.VisitAll(parsed, func(part metricsql.Expr) {
		switch part := part.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range part.LabelFilterss {
				unknown = append(unknown, e.unknownOf(filters, labels)...)
			}
		case *metricsql.AggrFuncExpr:
			grouped = append(grouped, part.Modifier.Args...)
		case *metricsql.BinaryOpExpr:
			grouped = append(grouped, part.GroupModifier.Args...)
		}
	})
	for _, label := range grouped {
		if !labels[label] {
			unknown = append(unknown, "label "+label)
		}
	}
	return unknown
}

func (e exported) unknownOf(filters []metricsql.LabelFilter, labels map[string]bool) (unknown []string) {
	name := ""
	for _, f := range filters {
		if f.Label == "__name__" {
			name = f.Value
		}
	}
	known, ok := e[name]
	if !ok {
		return []string{"metric " + name}
	}
	for label := range known {
		labels[label] = true
	}
	for _, f := range filters {
		values, ok := known[f.Label]
		switch {
		case f.Label == "__name__":
		case !ok:
			unknown = append(unknown, fmt.Sprintf("label %s of %s", f.Label, name))
		case slices.Contains(anyValue, f.Label):
		case f.IsRegexp:
			unknown = append(unknown, fmt.Sprintf("pattern %s of %s, which cannot be checked", f.Value, name))
		case !values[f.Value]:
			unknown = append(unknown, fmt.Sprintf("%s %q of %s, which has %v", f.Label, f.Value, name, slices.Sorted(maps.Keys(values))))
		}
	}
	return unknown
}

// dashboard is what is checked of one for Grafana.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	content, err := os.ReadFile("../deploy/grafana/sluice.json")
	must(t, err)
	must(t, json.Unmarshal(content, &d))
	return d
}

// plain is an expression without Grafana's variables.
func plain(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$sale", ".*").Replace(expr)
}

// metricsOf are those that a text names, grep's alternatives apart. A name may be the
// beginning of several.
func metricsOf(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(sluice_[a-z0-9_]*)(?:\(([a-z0-9_|]+)\))?`).FindAllStringSubmatch(text, -1) {
		for _, alternative := range strings.Split(m[2], "|") {
			names = append(names, m[1]+alternative)
		}
	}
	return names
}

// missing says which of the names nothing that is exported begins with.
func (e exported) missing(names []string) (missing []string) {
	for _, name := range names {
		known := false
		for metric := range e {
			known = known || strings.HasPrefix(metric, name)
		}
		if !known {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestRunbook_AsksTheAdminAPIForWhatItHas(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/runbook.md")
	must(t, err)
	description, err := os.ReadFile("../worker/internal/httpapi/openapi.yaml")
	must(t, err)
	var api struct{ Paths map[string]map[string]any }
	must(t, yaml.Unmarshal(description, &api))
	calls := regexp.MustCompile(`admin (-X POST )?"?\$OPS(/admin/v1/[A-Za-z/-]+)`).FindAllStringSubmatch(string(content), -1)
	if len(calls) < 10 {
		t.Errorf("found only %d calls", len(calls))
	}
	for _, call := range calls {
		method, path := "get", strings.NewReplacer("SALE", "{sale}", "ID", "{id}").Replace(call[2])
		if call[1] != "" {
			method = "post"
		}
		if api.Paths[path][method] == nil {
			t.Errorf("there is no %s of %s", method, path)
		}
	}
}

func TestNames_RulesDashboardAndRunbookAskForWhatIsExported(t *testing.T) {
	t.Parallel()
	const buyers = 20
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := openScene(ctx, t, buyers, buyers, stack.Config{Gateways: 1, Workers: 1})
	info := s.stack.Info()
	buy := func(from, to int) {
		for i := from; i < to; i++ {
			if status, answer := s.send(ctx, http.MethodPost, s.orders(i), s.tokens[i], ""); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, answer)
			}
		}
	}
	rules := readRules(t)
	names := byPrometheus(rules)
	scrape := func(ops string) {
		_, text := s.send(ctx, http.MethodGet, ops+"/metrics", "", "")
		names.add(text)
	}
	buy(0, buyers/2)
	s.rest(ctx, nil, time.Minute)
	scrape(info.Workers[0].AdminURL)
	s.withoutWorkers(ctx, func() { // some metrics are there only while something waits
		buy(buyers/2, buyers)
		s.until(ctx, "the gateway tells since when the oldest waits", func() bool {
			scrape(info.Gateways[0].OpsURL)
			return names["sluice_backlog_oldest_timestamp_seconds"] != nil && names["sluice_backlog_drain_rate"] != nil
		})
	})
	for _, r := range rules {
		if unknown := names.unknown(r.Expr); len(unknown) > 0 {
			t.Errorf("rule %s%s asks for %s", r.Alert, r.Record, strings.Join(unknown, ", "))
		}
	}
	runbook, err := os.ReadFile("../docs/runbook.md")
	must(t, err)
	if missing := names.missing(metricsOf(string(runbook))); len(missing) > 0 {
		t.Errorf("the runbook names %v", missing)
	}
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			if unknown := names.unknown(plain(target.Expr)); len(unknown) > 0 {
				t.Errorf("panel %q asks for %s", p.Title, strings.Join(unknown, ", "))
			}
		}
	}
	variables := map[string]string{}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type + " " + v.Definition
	}
	if d.UID != "sluice" || variables["datasource"] != "datasource " || variables["sale"] != "query label_values(sluice_backlog_waiting, sale)" {
		t.Errorf("the dashboard %q has variables %v", d.UID, variables)
	}
}
