package salesfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
	"sluice/warmup/internal/salesfile"
)

const full = `sales:
  - id: phone-1111            # a comment
    kind: goods
    title: Phone at half price
    sku: PHONE-1
    total: 1000
    price: 199900
    currency: CNY
    per_user_limit: 2
    opens_at: 2026-12-01T10:00:00+08:00
    closes_at: 2026-12-01T11:00:00.5+08:00
    hold: 10m
    mode: queued
    rebuy_after_release: false
    weight: 3
    eligibility: {min_account_age: 720h, min_paid_orders: 1, tags: [vip], allow_list: ids.txt}
  - {id: "1111", title: "1111", sku: S, total: 0, price: 1, currency: EUR, opens_at: 2020-01-01T00:00:00Z, closes_at: 2020-01-02T00:00:00Z}
`

// minimal is a sale with what is needed; tests put lines after it or into it.
const minimal = `sales:
  - id: phone
    title: Phone
    sku: PHONE-1
    total: 10
    price: 100
    currency: CNY
    opens_at: 2026-12-01T10:00:00Z
    closes_at: 2026-12-01T11:00:00Z
`

func users(string) ([]string, error) { return []string{"ann", "bob"}, nil }

func TestParse_ReadsEveryFieldAndDefault(t *testing.T) {
	t.Parallel()
	got, err := salesfile.Parse([]byte(full), users)
	if err != nil {
		t.Fatal(err)
	}
	want := []salesfile.Sale{
		{
			Sale: sale.Sale{
				ID: "phone-1111", Kind: sale.KindGoods, Title: "Phone at half price", SKU: "PHONE-1", Total: 1000,
				PriceMinor: 199900, Currency: "CNY", PerUserLimit: 2,
				OpensAt: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC), ClosesAt: time.Date(2026, 12, 1, 3, 0, 0, 5e8, time.UTC),
				Hold: 10 * time.Minute, Mode: sale.ModeQueued, Weight: 3,
				Eligibility: sale.Eligibility{MinAccountAge: 720 * time.Hour, MinPaidOrders: 1, Tags: []string{"vip"}, HasAllowList: true},
			},
			AllowList: []string{"ann", "bob"},
		},
		{Sale: sale.Sale{
			ID: "1111", Kind: sale.KindGoods, Title: "1111", SKU: "S", PriceMinor: 1, Currency: "EUR", PerUserLimit: 1,
			OpensAt: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), ClosesAt: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC),
			Hold: 15 * time.Minute, Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
		}},
	}
	if diff := cmp.Diff(want, got.Sales); diff != "" {
		t.Errorf("sales differ (-want +got):\n%s", diff)
	}
}

func TestParse_JSONIsTheSame(t *testing.T) {
	t.Parallel()
	text := "{\n\t\"sales\": [{\"id\": \"phone\", \"title\": \"Phone\", \"sku\": \"PHONE-1\", \"total\": 10, \"price\": 100, \"currency\": \"CNY\",\n" +
		"\t\t\"opens_at\": \"2026-12-01T10:00:00Z\", \"closes_at\": \"2026-12-01T11:00:00Z\"}]\n}\n"
	fromJSON, err := salesfile.Parse([]byte(text), users)
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := salesfile.Parse([]byte(minimal), users)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Errorf("JSON and YAML differ (-yaml +json):\n%s", diff)
	}
}

// line gives the minimal sale with the line of one field replaced or added.
func line(name, text string) string {
	var lines []string
	found := false
	for _, l := range strings.Split(strings.TrimSuffix(minimal, "\n"), "\n") {
		trimmed := strings.TrimLeft(l, " -")
		if strings.HasPrefix(trimmed, name+":") {
			l, found = l[:len(l)-len(trimmed)]+text, true
		}
		lines = append(lines, l)
	}
	if !found {
		lines = append(lines, "    "+text)
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestParse_RefusesFieldsByPathAndLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"id", "id: Phone", `sales[0].id: sale id "Phone": only a-z, 0-9 and - are allowed (line 2)`},
		{"id", "id: " + strings.Repeat("a", 65), "sales[0].id: sale id must have 1 to 64 characters, has 65 (line 2)"},
		{"id", "id: 1111", "sales[0].id: must be a text, is 1111; put it in quotes (line 2)"},
		{"id", "id: ''", "sales[0].id: must have 1 to 200 characters, has 0 (line 2)"},
		{"title", "title: \"a\\tb\"", "sales[0].title: must not have control characters, has U+0009 (line 3)"},
		{"title", "title: [Phone]", "sales[0].title: must be a text, is a list; put it in quotes (line 3)"},
		{"title", "title: {zh: 手机}", "sales[0].title.en: is missing (line 3)"},
		{"title", "title: {}", "sales[0].title.en: is missing (line 3)"},
		{"title", "title: {en: Phone, fr: Portable}", "sales[0].title.fr: unknown language; known are en, zh (line 3)"},
		{"title", "title: {en: Phone, zh-CN: 手机}", "sales[0].title.zh-CN: unknown language; known are en, zh (line 3)"},
		{"title", "title: {en: Phone, zh: 7}", "sales[0].title.zh: must be a text, is 7; put it in quotes (line 3)"},
		{"title", "title: {en: Phone, zh: ''}", "sales[0].title.zh: must have 1 to 200 characters, has 0 (line 3)"},
		{"title", "title: {en: Phone, zh: {a: b}}", "sales[0].title.zh: must be a text, is a mapping; put it in quotes (line 3)"},
		{"title", "title:\n      en: Phone\n      zh: \"手\\t机\"", "sales[0].title.zh: must not have control characters, has U+0009 (line 5)"},
		{"title", "title: {en: Phone, en: Phone}", `line 3: mapping key "en" already defined at [3:13]`},
		{"title", "title:", "sales[0].title: must be a text, is nothing; put it in quotes (line 3)"},
		{"sku", "sku: [a]", "sales[0].sku: must be a text, is a list; put it in quotes (line 4)"},
		{"total", "total: -1", "sales[0].total: must be 0..100000000, is -1 (line 5)"},
		{"total", "total: 100000001", "sales[0].total: must be 0..100000000, is 100000001 (line 5)"},
		{"total", "total: \"10\"", `sales[0].total: must be a whole number in decimal digits, is "10" (line 5)`},
		{"total", "total: 1.5", "sales[0].total: must be a whole number in decimal digits, is 1.5 (line 5)"},
		{"total", "total: 1e3", `sales[0].total: must be a whole number in decimal digits, is "1e3" (line 5)`},
		{"total", "total: 010", "sales[0].total: must be a whole number in decimal digits, is 010 (line 5)"},
		{"total", "total: 1_000", "sales[0].total: must be a whole number in decimal digits, is 1_000 (line 5)"},
		{"total", "total: 99999999999999999999", `sales[0].total: must be a whole number in decimal digits, is "99999999999999999999" (line 5)`},
		{"price", "price: 0", "sales[0].price: must be 1..1000000000000, is 0 (line 6)"},
		{"currency", "currency: cny", `sales[0].currency: must be three capital letters such as CNY, is "cny" (line 7)`},
		{"opens_at", "opens_at: 2026-12-01T10:00:00", `sales[0].opens_at: must be a time with a zone such as 2026-12-01T10:00:00+08:00, is "2026-12-01T10:00:00" (line 8)`},
		{"opens_at", "opens_at: 2026-12-01", `sales[0].opens_at: must be a time with a zone such as 2026-12-01T10:00:00+08:00, is "2026-12-01" (line 8)`},
		{"opens_at", "opens_at: 2026-12-01T10:00:00.0001Z", `sales[0].opens_at: must be exact to the millisecond, is "2026-12-01T10:00:00.0001Z" (line 8)`},
		{"opens_at", "opens_at: 1999-12-31T10:00:00Z", `sales[0].opens_at: must lie in the years 2000 to 9998, is "1999-12-31T10:00:00Z" (line 8)`},
		{"opens_at", "opens_at: 1764554400", "sales[0].opens_at: must be a time such as 2026-12-01T10:00:00+08:00, is 1764554400 (line 8)"},
		{"closes_at", "closes_at: 2026-12-01T10:00:00Z", "sales[0].closes_at: must be after opens_at (line 2)"},
		{"per_user_limit", "per_user_limit: 0", "sales[0].per_user_limit: must be 1..20, is 0 (line 10)"},
		{"per_user_limit", "per_user_limit: 21", "sales[0].per_user_limit: must be 1..20, is 21 (line 10)"},
		{"weight", "weight: 1001", "sales[0].weight: must be 1..1000, is 1001 (line 10)"},
		{"hold", "hold: 15", "sales[0].hold: must be a duration such as 15m or 720h, is 15 (line 10)"},
		{"hold", "hold: 15 minutes", `sales[0].hold: must be a duration such as 15m or 720h, is "15 minutes" (line 10)`},
		{"hold", "hold: 0s", "sales[0].hold: must be 1s..720h0m0s, is 0s (line 10)"},
		{"hold", "hold: 1000.5ms", "sales[0].hold: must be whole milliseconds, is 1.0005s (line 10)"},
		{"rebuy_after_release", "rebuy_after_release: yes", `sales[0].rebuy_after_release: must be true or false, is "yes" (line 10)`},
		{"kind", "kind: coupon", "sales[0].sku: is not for kind coupon: the order system knows it by its template (line 4)"},
		{"kind", "kind: gods", `sales[0].kind: must be goods or coupon, is "gods" (line 10)`},
		{"mode", "mode: later", `sales[0].mode: must be queued or instant, is "later" (line 10)`},
		{"template", "template: newcomer", "sales[0].template: is for kind coupon alone (line 10)"},
		{"totl", "totl: 10", "sales[0].totl: unknown key; known are id, kind, title, sku, template, total, price, currency, per_user_limit, opens_at, closes_at, hold, mode, rebuy_after_release, weight, eligibility (line 10)"},
		{"Total", "Total: 10", "sales[0].Total: unknown key; known are id, kind, title, sku, template, total, price, currency, per_user_limit, opens_at, closes_at, hold, mode, rebuy_after_release, weight, eligibility (line 10)"},
		{"7", "7: 10", "sales[0]: key must be a text, is 7 (line 10)"},
		{"<<", "<<: {weight: 2}", "sales[0]: key must be a text, is an anchor or alias (line 10)"},
		{"weight", "weight: &w 2", "sales[0].weight: must be a whole number in decimal digits, is an anchor or alias (line 10)"},
		{"weight", "weight: !!int 2", "sales[0].weight: must be a whole number in decimal digits, is tagged (line 10)"},
		{"eligibility", "eligibility: []", "sales[0].eligibility: must be a mapping, is a list (line 10)"},
		{"eligibility", "eligibility: {age: 1h}", "sales[0].eligibility.age: unknown key (line 10)"},
		{"eligibility", "eligibility: {min_account_age: -1h}", "sales[0].eligibility.min_account_age: must be 0s..876000h0m0s, is -1h0m0s (line 10)"},
		{"eligibility", "eligibility: {min_paid_orders: -1}", "sales[0].eligibility.min_paid_orders: must be 0..1000000000, is -1 (line 10)"},
		{"eligibility", "eligibility: {tags: vip}", `sales[0].eligibility.tags: must be a list, is "vip" (line 10)`},
		{"eligibility", "eligibility: {tags: [vip, 7]}", "sales[0].eligibility.tags[1]: must be a text, is 7; put it in quotes (line 10)"},
		{"eligibility", "eligibility: {tags: [vip, vip]}", `sales[0].eligibility.tags[1]: "vip" is there twice (line 10)`},
		{"eligibility", "eligibility: {allow_list: ''}", "sales[0].eligibility.allow_list: must have 1 to 4096 characters, has 0 (line 10)"},
		{"weight", "weight: 2\n    weight: 3", `line 11: mapping key "weight" already defined at [10:5]`},
	} {
		file, err := salesfile.Parse([]byte(line(c.name, c.text)), users)
		if err == nil || file != nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestParse_SilentFieldsHaveDefaults(t *testing.T) {
	t.Parallel()
	text := "sales:\n  - {id: phone, total: 1, price: 1, mode: instant, opens_at: 2026-12-01T10:00:00Z, closes_at: 2026-12-01T11:00:00Z}\n"
	file, err := salesfile.Parse([]byte(text), users)
	if err != nil {
		t.Fatal(err)
	}
	if s := file.Sales[0].Sale; s.Title != "phone" || s.SKU != "phone" || s.Currency != "CNY" || s.Mode != sale.ModeInstant || s.Hold != 15*time.Minute {
		t.Errorf("got %+v", s)
	}
}

func TestParse_TitlesByLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"title: Phone":                            nil,
		"title: {en: Phone}":                      nil,
		"title: {zh: 半价手机, en: Phone}":            {"zh": "半价手机"},
		"title:\n      en: Phone\n      zh: 半价手机": {"zh": "半价手机"},
	} {
		file, err := salesfile.Parse([]byte(line("title", text)), users)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, file.Sales[0].Titles); diff != "" || file.Sales[0].Title != "Phone" {
			t.Errorf("%s: title %q, others (-want +got):\n%s", text, file.Sales[0].Title, diff)
		}
	}
}

func TestParse_RefusesMissingFields(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"id", "total", "price", "opens_at", "closes_at"} {
		text := strings.Replace(line(name, "weight: 1"), "\n\n", "\n", 1)
		_, err := salesfile.Parse([]byte(text), users)
		if want := "sales[0]." + name + ": is missing (line 2)"; err == nil || err.Error() != want {
			t.Errorf("without %s: got %v, want %s", name, err, want)
		}
	}
}

func TestParse_RefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "sales: is missing: the file is empty",
		"# nothing\n":                "sales: is missing: the file is empty",
		"sales: []\n":                "sales: is missing or empty",
		"sales:\n":                   "sales: must be a list, is nothing (line 1)",
		"{}":                         "sales: is missing or empty",
		"- id: phone\n":              "sales file: must be a mapping, is a list (line 1)",
		"phone":                      `sales file: must be a mapping, is "phone" (line 1)`,
		"sale: []\n":                 "sale: unknown key; known are sales, coupon_templates (line 1)",
		"sales: [phone]\n":           `sales[0]: must be a mapping, is "phone" (line 1)`,
		"sales: [\n":                 "line 1: sequence end token ']' not found",
		minimal + "---\nsales: []\n": "a second document begins in line 11, only one is allowed",
		minimal + "sales: []\n":      `line 10: mapping key "sales" already defined at [1:1]`,
		minimal + strings.TrimPrefix(minimal, "sales:\n"): `sales[1]: id "phone" is that of sales[0] too (line 10)`,
	} {
		file, err := salesfile.Parse([]byte(text), users)
		if err == nil || file != nil || err.Error() != want {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestParse_AllowListErrorNamesTheField(t *testing.T) {
	t.Parallel()
	refuse := func(string) ([]string, error) { return nil, errors.New("gone") }
	_, err := salesfile.Parse([]byte(full), refuse)
	if want := "sales[0].eligibility.allow_list: gone (line 16)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRead_FindsTheAllowListBesideTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sales.yaml"), full)
	write(t, filepath.Join(dir, "ids.txt"), "\ufeffann\r\n\n 王 \nann\n")
	file, err := salesfile.Read(filepath.Join(dir, "sales.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ann", " 王 ", "ann"}, file.Sales[0].AllowList); diff != "" {
		t.Errorf("allow list differs (-want +got):\n%s", diff)
	}
}

func TestRead_NamesTheFileAndTheLineOfBadInput(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[string]string{
		"ann\n" + strings.Repeat("u", 129) + "\n": "line 2: user id must have 1 to 128 characters, has 129",
		"ann\nb\x00b\n": "line 2: user id has a character U+0000, which is not allowed",
		"\xff\n":        "line 1: user id is not valid UTF-8",
		"\n\n":          "no user ids: nobody could buy",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "sales.yaml")
		write(t, path, full)
		write(t, filepath.Join(dir, "ids.txt"), allowed)
		_, err := salesfile.Read(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("allow list %q: got %v, want one line with %s", allowed, err, want)
		}
	}
}

func TestRead_RefusesWhatIsNoSalesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	write(t, big, strings.Repeat("#\n", 1<<20))
	for _, path := range []string{dir, big, filepath.Join(dir, "absent.yaml"), "/dev/null"} {
		if _, err := salesfile.Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names it", path, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		full, minimal, "", "sales: []", "a: &x [*x]", "<<: *x", "{", "? a\n: b", "sales:\n- !!map {}", "%YAML 1.2\n---\nsales: ~",
		line("hold", "hold: 1h2m3s"), line("eligibility", "eligibility: {tags: [a, b]}"), "{\"sales\": [{\"id\": \"a\"}]}", "sales: |\n  x\n",
		line("title", "title: {en: Phone, zh: 手机}"), line("title", "title: {en: &a Phone, zh: *a}"),
		coupons, templateText("bearers: [{party: a, bps: 1}, {party: b, bps: 9999}]"), templateText("scope: {skus: [a, a]}"), "coupon_templates: [{}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := salesfile.Parse(data, users)
		if err != nil {
			if file != nil {
				t.Errorf("%q gives sales beside the error", data)
			}
			return
		}
		for _, r := range file.Templates {
			if sale.ValidateTemplateID(r.ID) != nil || r.Validate() != nil || r.Issued != 0 || r.Scope.SKUs == nil || r.StackWith == nil {
				t.Errorf("%q passes as %+v", data, r)
			}
		}
		for _, s := range file.Sales {
			if s.Title == "" || len(s.Titles) >= len(sale.TitleLanguages()) || s.Titles["en"] != "" {
				t.Errorf("%q passes with the titles %q, %q", data, s.Title, s.Titles)
			}
			if sale.ValidateID(s.ID) != nil || s.Total < 0 || s.PerUserLimit < 1 || s.PerUserLimit > 20 || !s.OpensAt.Before(s.ClosesAt) ||
				(s.Kind == sale.KindCoupon) != (s.Template != "") || (s.Kind == sale.KindGoods) != (s.PriceMinor > 0) {
				t.Errorf("%q passes as %+v", data, s)
			}
		}
	})
}
