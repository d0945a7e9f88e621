package mix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead_TheDocumentedFileIsTheUsualMix(t *testing.T) {
	t.Parallel()
	got, err := Read(filepath.Join("..", "..", "..", "docs", "mix.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Usual(), got); diff != "" {
		t.Error(diff)
	}
}

func TestParse_WhatIsLeftOutIsAsDocumented(t *testing.T) {
	t.Parallel()
	for _, empty := range []string{"", "{}", "# nothing\n"} {
		if got, err := Parse([]byte(empty)); err != nil || !cmp.Equal(got, Usual()) {
			t.Errorf("%q is %+v, %v", empty, got, err)
		}
	}
	got, err := Parse([]byte("attempts: {buyers: 1}\nsales: [{id: phone}, {id: tv, role: hot, units: 7, count: 2}]\n"))
	want := Usual()
	want.Attempts = Parts{Buyers: 1}
	want.Sales = []Sale{{ID: "phone", Role: Open, Count: 1, Units: 1000, PerUserLimit: 1}, {ID: "tv", Role: Hot, Count: 2, Units: 7, PerUserLimit: 1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestParse_RubbishIsRefusedByTheNameOfItsField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"usres: 5":                     "usres",
		"attempts: {buyer: 5}":         "attempts.buyer",
		"sales: [{id: a, rolle: hot}]": "sales[0].rolle",
		"users: many":                  "users",
		"users: 1.5":                   "users",
		"users:":                       "users",
		"users: 0":                     "users",
		"users: 1000000001":            "users",
		"users: 99999999999999999999":  "users",
		"attempts: {early: -1}":        "attempts.early",
		"attempts: []":                 "attempts",
		"attempts: {sold_out: 0}":      "attempts",
		"hot_percent: 101":             "hot_percent",
		"repeat_within: 0":             "repeat_within",
		"sales: []":                    "sales",
		"sales: {id: a}":               "sales",
		"sales: [a]":                   "sales[0]",
		"sales: [{role: hot}]":         "sales[0].id",
		"sales: [{id: A}]":             "sales[0].id",
		"sales: [{id: 5}]":             "sales[0].id",
		"sales: [{id: a, role: cold}]": "sales[0].role",
		"sales: [{id: a, count: 0}]":   "sales[0].count",
		"sales: [{id: a, count: 600}, {id: b, count: 600}]":        "sales",
		"sales: [{id: a, units: 0}]":                               "sales[0].units",
		"attempts: {repeats: 5}":                                   "attempts.buyers must be above 0",
		"attempts: {sold_out: 1, keyed_repeats: 5}":                "attempts.buyers must be above 0",
		"sales: [{id: a, units: -1}]":                              "sales[0].units",
		"sales: [{id: a, per_user_limit: 21}]":                     "sales[0].per_user_limit",
		"sales: [{id: a}, {id: a}]":                                `"a"`,
		"sales: [{id: a, count: 2}, {id: a-2}]":                    `"a-2"`,
		"sales: [{id: a}]":                                         "attempts.sold_out",
		"attempts: {early: 1}\nsales: [{id: a}]":                   "attempts.early",
		"attempts: {buyers: 1}\nsales: [{id: a, role: early}]":     "attempts.buyers",
		"users: 1\nusers: 2":                                       "users",
		"{users: 1}\n---\n{users: 2}":                              "more than one document",
		"- users":                                                  "mapping",
		"just a text":                                              "mapping",
		"{users: [":                                                "line 2",
		"sales: [{1: 2}]":                                          "field 1",
		"users: .nan":                                              "NaN",
		"sales: [{id: " + strings.Repeat("a", 64) + ", count: 2}]": "64 characters",
	} {
		if got, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is taken: %+v", text, got)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is refused with %q, which does not say %q", text, err, want)
		}
	}
}

func TestRead_FilesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, large, filepath.Join(dir, "missing.yaml")} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSalesFile_HasEverySaleAndTheEarlyOnesAreNotOpen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	text := string(Usual().SalesFile(now))
	if n := strings.Count(text, "- {id:"); n != 27 {
		t.Errorf("%d sales", n)
	}
	for _, want := range []string{"id: mix-open-20, total: 2000,", "id: mix-hot, total: 10000, price: 19900, per_user_limit: 1, opens_at: 2026-12-01T01:59:00Z, closes_at: 2026-12-02T01:59:00Z", "id: mix-early, total: 1000, price: 19900, per_user_limit: 1, opens_at: 2026-12-02T02:00:00Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
