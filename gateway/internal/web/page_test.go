package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"sluice/gateway/internal/web"
)

func words(t *testing.T, language string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("words/" + language + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// schema of the API's document.
func schema(t *testing.T, name string) *openapi3.Schema {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas[name].Value
}

func TestWords_SayEveryProblemStatusAndReasonInBothLanguages(t *testing.T) {
	t.Parallel()
	var want []string
	for _, listed := range []struct {
		schema, before string
		after          []string
	}{
		{"TicketStatus", "status.", []string{"", ".more"}}, {"RejectionReason", "reason.", []string{""}}, {"SaleState", "state.", []string{""}},
		{"ProblemType", "problem.", []string{"", ".more"}},
	} {
		for _, value := range schema(t, listed.schema).Enum {
			for _, after := range listed.after {
				want = append(want, listed.before+strings.TrimPrefix(value.(string), "/problems/")+after)
			}
		}
	}
	for _, value := range schema(t, "Sale").Properties["availability"].Value.Enum {
		want = append(want, "availability."+value.(string))
	}
	for _, reason := range schema(t, "NotEligible").Properties["reason"].Value.OneOf {
		want = append(want, "problem.not-eligible."+reason.Value.Const.(string))
	}
	if len(want) < 60 {
		t.Fatalf("only %d words are wanted", len(want))
	}
	for _, language := range []string{"en", "zh"} {
		have := words(t, language)
		for _, key := range want {
			if strings.TrimSpace(have[key]) == "" {
				t.Errorf("%s: nothing is said for %s", language, key)
			}
		}
	}
}

var placeholder = regexp.MustCompile(`{\w+}`)

func TestWords_AreTheSameSentencesInBothLanguages(t *testing.T) {
	t.Parallel()
	en, zh := words(t, "en"), words(t, "zh")
	if a, b := slices.Sorted(maps.Keys(en)), slices.Sorted(maps.Keys(zh)); !slices.Equal(a, b) {
		t.Errorf("the keys differ: %v, %v", a, b)
	}
	han := regexp.MustCompile(`\p{Han}`)
	for key, text := range en {
		a, b := placeholder.FindAllString(text, -1), placeholder.FindAllString(zh[key], -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: values %v, in Chinese %v", key, a, b)
		}
		if han.MatchString(text) || !han.MatchString(zh[key]) && strings.Trim(placeholder.ReplaceAllString(zh[key], ""), " :/–") != "" {
			t.Errorf("%s: %q, in Chinese %q", key, text, zh[key])
		}
	}
}

// A sentence for coupons stands for one of goods; what is only about coupons is few.
func TestWords_OfCouponsStandForWordsOfGoods(t *testing.T) {
	t.Parallel()
	en, zh := words(t, "en"), words(t, "zh")
	own := []string{"coupon", "coupon.number"}
	n := 0
	for key, text := range en {
		of, is := strings.CutPrefix(key, "coupon.")
		if !is || slices.Contains(own, key) {
			continue
		}
		n++
		if en[of] == "" {
			t.Errorf("%s: there is no %s", key, of)
		}
		if text == en[of] && zh[key] == zh[of] {
			t.Errorf("%s says what %s says", key, of)
		}
		for _, about := range []string{"buy", "sold", "charged", "购买", "抢购", "扣款", "售罄", "付款"} {
			if strings.Contains(strings.ToLower(text+zh[key]), about) && !strings.Contains(key, "not-eligible") {
				t.Errorf("%s: %q, %q is about %s", key, text, zh[key], about)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d sentences are about coupons", n)
	}
}

// used are the keys that the script names whole.
var used = regexp.MustCompile(`'((?:page|link|who|signin|sale|unit|state|buy|tickets|step|queue|eta|pay|trouble|coupon)\.[a-z_.]+)'`)

func TestWords_AreThereForWhatTheScriptSays(t *testing.T) {
	t.Parallel()
	en, body := words(t, "en"), string(web.New(true).Body)
	for _, found := range used.FindAllStringSubmatch(body, -1) {
		if key := found[1]; en[key] == "" && en[key+".other"] == "" {
			t.Errorf("the script says %s, which has no words", key)
		}
	}
}

func TestPage_IsOneDocumentThatAsksNobodyElse(t *testing.T) {
	t.Parallel()
	p := web.New(false)
	for _, elsewhere := range []string{`src="`, `href="http`, "@import", "url(http", "innerHTML", "document.write", "eval("} {
		if bytes.Contains(p.Body, []byte(elsewhere)) {
			t.Errorf("it has %s", elsewhere)
		}
	}
	if n := bytes.Count(p.Body, []byte("</script>")); n != 1 {
		t.Errorf("the script ends %d times", n)
	}
	if bytes.Contains(p.Body, []byte("{{")) {
		t.Error("something was not filled in")
	}
	r, err := gzip.NewReader(bytes.NewReader(p.Gzip))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r); err != nil || !bytes.Equal(body, p.Body) {
		t.Errorf("compressed it is another: %v", err)
	}
	if local := web.New(true); p.Tag == local.Tag || p.Tag == p.GzipTag {
		t.Error("two documents have one ETag")
	}
	if len(p.Gzip) > 40<<10 {
		t.Errorf("%d bytes compressed", len(p.Gzip))
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:80": true, "localhost:80": true, "localhost": true, "127.9.9.9": true,
		"0.0.0.0:8080": false, ":8080": false, "": false, "shop.test:80": false, "10.0.0.1:80": false, "localhost.shop.test:80": false,
	} {
		if got := web.IsLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
