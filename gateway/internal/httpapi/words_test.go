package httpapi

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"sluice/gateway/internal/language"
)

func TestWords_EveryLanguageHasEveryTitleAndDetail(t *testing.T) {
	t.Parallel()
	for l, words := range spoken {
		tag := language.Language(l).Tag()
		for k, title := range words.titles {
			if title == "" {
				t.Errorf("%s: no title of %s", tag, wire[k].name)
			}
		}
		for d, text := range words.details {
			if text == "" {
				t.Errorf("%s: no detail for: %s", tag, english.details[d])
			}
		}
	}
}

// kept are what stays as it is in every language: placeholders, members, headers,
// parameters, calls.
var kept = regexp.MustCompile(`%(?:\[\d\])?[+# ]?[a-z]|\b[a-z]+_[a-z_]+\b|\b[A-Z][A-Za-z]*-[A-Z][A-Za-z-]*\b|GET /[\w/]+|\bJWT\b|\bKiB\b|\{\}`)

func TestWords_KeepPlaceholdersAndNames(t *testing.T) {
	t.Parallel()
	for d, text := range english.details {
		want := kept.FindAllString(text, -1)
		slices.Sort(want)
		for l, words := range spoken {
			got := kept.FindAllString(words.details[d], -1)
			slices.Sort(got)
			if missing := without(want, got); l != int(language.English) && len(missing) > 0 {
				t.Errorf("%s: %q lacks %v of %q", language.Language(l).Tag(), words.details[d], missing, text)
			}
			if a, b := verbs(want), verbs(got); !slices.Equal(a, b) {
				t.Errorf("%s: %q has placeholders %v, English %v", language.Language(l).Tag(), words.details[d], b, a)
			}
		}
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(some, one) })
}

func verbs(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "%") })
}

func TestWords_ChineseIsChinese(t *testing.T) {
	t.Parallel()
	han := regexp.MustCompile(`\p{Han}`)
	for _, text := range append(chinese.titles[:], chinese.details[:]...) {
		if !han.MatchString(text) || strings.ContainsAny(text, ",;!?") {
			t.Errorf("%q", text)
		}
	}
}

// The document is English, and shows to clients what they get.
func TestWords_OfTheDocumentAreTheEnglishOnes(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, response := range doc.Components.Responses {
		for contentType, media := range response.Value.Content {
			if contentType != "application/problem+json" {
				continue
			}
			for _, example := range examplesOf(media) {
				seen++
				detail := example["detail"].(string)
				if !slices.Contains(english.titles[:], example["title"].(string)) || !slices.ContainsFunc(english.details[:], func(text string) bool { return said(text, detail) }) {
					t.Errorf("%s: %v is not what is answered", name, example)
				}
			}
		}
	}
	if seen < kinds {
		t.Errorf("%d examples of problems, of %d kinds", seen, kinds)
	}
}

// said reports whether got is text with its placeholders filled.
func said(text, got string) bool {
	pattern := regexp.MustCompile(`%[a-z]`).ReplaceAllString(regexp.QuoteMeta(text), ".+")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

func examplesOf(media *openapi3.MediaType) []map[string]any {
	var all []map[string]any
	if one, ok := media.Example.(map[string]any); ok {
		all = append(all, one)
	}
	for _, ref := range media.Examples {
		all = append(all, ref.Value.Value.(map[string]any))
	}
	return all
}
