package report

import (
	"bytes"
	"encoding/xml"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

// full is a report with something of everything.
func full() Report {
	r := Report{
		Verdict: sale.Verdict{Pass: true},
		Orders:  Orders{Total: 1000, Pending: 1000},
		Funnel:  map[string]Layer{},
		Latency: map[string]record.Summary{
			"in_stock.accepted": {Count: 1000, P50: 118, P95: 170, P99: 186, Max: 208},
			"sold_out.sold_out": {Count: 56137, P50: 0.65, P95: 1.3, P99: 3, Max: 68},
			"early.not_open":    {Count: 2000, P50: 0.6, P95: 1, P99: 1.5, Max: 6},
			"ticket.read":       {Count: 497, P50: 0.6, P95: 1, P99: 1.5, Max: 6},
			"poll.queued":       {Count: 120, P50: 0.4, P95: 0.9, P99: 1.1, Max: 2},
			"other":             {},
		},
		QueueWait: QueueWait{P50: 0.043, P95: 0.178, P99: 0.197, Max: 0.203, Buckets: []Bucket{{0.1, 900}, {0.2, 99}, {0.3, 1}}},
		Timeline: []Sample{
			{T: -0.5, Stock: 1000}, {T: 0.1, Stock: 600, Accepted: 400, Served: 100, HandOff: 40}, {T: 0.35, Accepted: 1000, Served: 1000},
		},
		DBWritesPerS: 1016, Machine: ThisMachine(),
		Config: map[string]any{"units": 1000, "lateness": struct {
			Tool int `json:"tool"`
		}{42}},
	}
	r.Words, r.NotMeasured = []string{"No oversell in 1 round of 10 attempts."}, []string{"TLS: connections were plain."}
	r.Writes = Writes{Rows: 2032, Seconds: 2}
	r.Settings = []WorkerSettings{{Name: "worker-0", Batch: 500, Consumers: 2, Ceiling: 100_000, Pace: 4000, Target: 50, P90: 48, LimitedBy: "demand", Orders: 1000, PerCommit: 101, Commits: 2.86}}
	r.Processes = []Process{
		{Name: "gateway-0", Cores: 0.42, CPUSeconds: 6.3, MicrosPerTry: 105, ResidentMB: 37}, {Name: "postgres", Cores: 0.1, CPUSeconds: 1.5, MicrosPerTry: 25},
		{Name: ToolProcess, Cores: 0.6, CPUSeconds: 9, MicrosPerTry: 150, ResidentMB: 62}, {Name: OtherProcess, Cores: 0.02, CPUSeconds: 0.3},
	}
	r.Curves = []Curve{
		{Name: "sales_accepts_per_s", Over: "open sales", Figure: "accepted attempts a second", Points: []CurvePoint{{1, Spread{12000, 11000, 13000}}, {100, Spread{11000, 9000, 12000}}, {10, Spread{11800, 11000, 12100}}}},
		{Name: "gateways_us", Over: "gateways", Figure: "CPU µs an attempt", Points: []CurvePoint{{1, Spread{105, 100, 110}}, {4, Spread{120, 110, 140}}}},
		{Name: "gateways_mb", Over: "gateways", Figure: "memory of a gateway, MiB", Points: []CurvePoint{{2, Spread{37, 37, 37}}}},
		{Name: "close", Over: "attempts a second", Figure: "p99, ms", Points: []CurvePoint{{1000, Spread{3, 3, 3}}, {1100, Spread{3, 3, 3}}, {1250, Spread{4, 4, 4}}, {1300, Spread{9, 9, 9}}, {2000, Spread{0.004, 0, 50}}}},
		{Name: "nothing", Over: "nothing", Figure: "nothing"},
	}
	r.Tables = []Table{{Title: "Where the time goes", Text: "Of a gateway.", Head: []string{"function", "part"}, Rows: [][]string{{"syscall.Write", "31 %"}}}}
	r.Compared = []Compared{{System: "incident", Total: 5000, Issued: Spread{5231, 5231, 5231}}}
	for i, layer := range sale.Layers() {
		r.Funnel[layer.String()] = Layer{Entered: int64(60000 - 1000*i), Exits: map[string]int64{"sold_out": 900, "busy": 60, "replay": 40}}
	}
	return r
}

func pageOf(t *testing.T, r Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.page(&b, "demo", time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage_HasEveryLayerClassAndNumber(t *testing.T) {
	t.Parallel()
	r := full()
	got := pageOf(t, r)
	wants := []string{"Pass", "Stock over time", "Queue over time", "Queue wait", "lateness.tool", "go1.", "Latency sold out", "Latency in stock", "opens", "5,231 of 5,000",
		"Latency of polls", "No oversell in 1 round", "Not measured", "TLS: connections were plain.", "2,032 rows inserted", "CPU per process", "0.42 cores · 105 µs an attempt",
		"By open sales", "accepted attempts a second", "Where the time goes", "syscall.Write", "refused as sold out, p99"}
	for _, layer := range sale.Layers() {
		wants = append(wants, ">"+layer.String()+"</text>", ">"+layer.String()+"</th>")
	}
	for class := range r.Latency {
		wants = append(wants, ">"+class+"</th>")
	}
	for _, p := range r.Processes {
		wants = append(wants, ">"+p.Name+"</text>", ">"+p.Name+"</th>")
	}
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPage_EveryChartHasATitleADescriptionAndATable(t *testing.T) {
	t.Parallel()
	got := pageOf(t, full())
	charts := regexp.MustCompile(`<svg role="img" aria-labelledby="(\S+) (\S+)"`).FindAllStringSubmatch(got, -1)
	if len(charts) != 15 {
		t.Fatalf("%d charts", len(charts))
	}
	ids := make(map[string]bool)
	for _, c := range charts {
		for _, id := range c[1:] {
			if n := strings.Count(got, `id="`+id+`"`); n != 1 || ids[id] {
				t.Errorf("%d elements are %s", n, id)
			}
			ids[id] = true
		}
	}
	if n := strings.Count(got, "<details>"); n != len(charts) {
		t.Errorf("%d tables behind %d charts", n, len(charts))
	}
}

func TestPage_NeedsNothingFromOutside(t *testing.T) {
	t.Parallel()
	got := pageOf(t, full())
	if refers := regexp.MustCompile(`(?i)https?://|\b(src|href|action|xlink:href)\s*=|url\(|@import|<(script|link|img|iframe|object|embed|base)\b`).FindAllString(got, -1); refers != nil {
		t.Errorf("the page refers to %q", refers)
	}
	if !strings.Contains(got, `content="default-src 'none'; style-src 'unsafe-inline'"`) {
		t.Error("the page does not forbid itself to load anything")
	}
}

func TestPage_HostileStringsStayText(t *testing.T) {
	t.Parallel()
	const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;${{.}}</title></style>`
	r := full()
	r.Fail(hostile, "%s", hostile)
	r.Funnel[hostile] = Layer{Entered: 5, Exits: map[string]int64{hostile: 3}}
	r.Latency[hostile] = record.Summary{Count: 1, P50: 1, P95: 1, P99: 1, Max: 1}
	r.Latency["in_stock."+hostile] = record.Summary{Count: 1}
	r.Config[hostile] = map[string]any{hostile: []string{hostile}}
	r.Machine.Go = hostile
	r.Compared[0].System = hostile
	r.Words, r.NotMeasured = []string{hostile}, []string{hostile}
	r.Tables[0] = Table{Title: hostile, Text: hostile, Head: []string{hostile}, Rows: [][]string{{hostile}}}
	r.Processes[0].Name, r.Settings[0].LimitedBy = hostile, hostile
	r.Curves[0].Over, r.Curves[0].Figure = hostile, hostile
	r.Faults = []Fault{{Row: hostile, Name: hostile, Fault: hostile, Expect: hostile, Shows: hostile, HitBy: []string{hostile}, Invariants: []string{hostile},
		Violations: []sale.Violation{{Invariant: hostile, Detail: hostile}}, Shown: []sale.Violation{{Invariant: hostile, Detail: hostile}}}}
	got := pageOf(t, r)
	for _, danger := range []string{"<script", "<img", "onerror=alert(1)>"} {
		if strings.Contains(got, danger) {
			t.Errorf("the page contains %q", danger)
		}
	}
	if n := strings.Count(html.UnescapeString(got), hostile); n < 20 {
		t.Errorf("the text is shown %d times", n)
	}
	if !strings.Contains(got, "Fail") || strings.Contains(got, "No violation") {
		t.Error("the verdict is not fail")
	}
}

// Charts are XML inside HTML: what a number can become must not break them.
func TestPage_ChartsAreWellFormedWhateverTheNumbers(t *testing.T) {
	t.Parallel()
	odd := full()
	odd.Funnel["memory"] = Layer{Entered: 0, Exits: map[string]int64{"sold_out": 7}} // a gateway that was started again
	odd.Timeline = []Sample{{T: 1}}
	odd.QueueWait = QueueWait{Buckets: []Bucket{{UpTo: 0.001, Count: 1}}}
	odd.Latency = map[string]record.Summary{"x": {}, "y": {Max: 1e9, P50: 1e-9}}
	odd.Processes = []Process{{Name: "gateway-0", Cores: 9}, {Name: OtherProcess, Cores: -1}}
	odd.Curves = []Curve{{Points: []CurvePoint{{0, Spread{}}, {0, Spread{Median: -1, Min: -3}}}}, {Points: []CurvePoint{{1, Spread{}}}}}
	withPace := full()
	withPace.Paces = []Pace{paced(), {Samples: []PaceSample{{}}}}
	for name, c := range map[string]struct {
		report Report
		charts int
	}{"full": {full(), 15}, "odd": {odd, 9}, "empty": {}, "pace": {withPace, 19}} {
		charts := regexp.MustCompile(`(?s)<svg role="img".*?</svg>\n<details`).FindAllString(pageOf(t, c.report), -1)
		if len(charts) != c.charts {
			t.Errorf("%s: %d charts, want %d", name, len(charts), c.charts)
		}
		for _, chart := range charts {
			chart = chart[:strings.LastIndex(chart, "</svg>")+len("</svg>")]
			if err := xml.Unmarshal([]byte(chart), new(struct{})); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, chart)
			}
			if strings.Contains(chart, "NaN") || strings.Contains(chart, "Inf") || regexp.MustCompile(`(width|height)="-`).MatchString(chart) {
				t.Errorf("%s: broken numbers in\n%s", name, chart)
			}
		}
	}
}

func TestWrite_PutsThePageBesideTheJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	if err := full().Write(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "<title>Sluice demo: pass</title>") {
		t.Errorf("page %.200s, %v", page, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestNumbers_AreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0": count(0), "999": count(999), "1,000": count(1000), "−12,345,678": count(-12345678),
		"0 ms": millis(0), "650 µs": millis(0.65), "1.5 ms": millis(1.5), "118 ms": millis(118.4), "12.3 s": millis(12345),
		"33.33%": percent(100.0 / 3).String(),
		"0.0035": short(0.0035), "0.12": short(0.123), "0.012": short(0.01239), "1.25k": compact(1250), "2M": compact(2e6), "12": compact(12), "12,346": number(12345.6),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for top, want := range map[float64]float64{0: 1, 1: 0.5, 1000: 500, 303: 100, 0.203: 0.1} {
		if got := step(top, 4); got != want {
			t.Errorf("step up to %v is %v, want %v", top, got, want)
		}
	}
}
