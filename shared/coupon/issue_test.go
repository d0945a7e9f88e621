package coupon

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func amountTemplate() Template {
	return Template{ID: "newcomer-20", Kind: KindAmount, Value: 2_000, MinAmountCents: 10_000, Total: 100, Issued: 40}
}

func changed(change func(*Template)) Template {
	t := amountTemplate()
	change(&t)
	return t
}

func TestValidate_RefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		template Template
		want     error
		numbers  string // that the error carries
	}{
		"no id":              {changed(func(t *Template) { t.ID = "" }), ErrEmptyTemplateID, ""},
		"zero template":      {Template{}, ErrEmptyTemplateID, ""},
		"negative total":     {changed(func(t *Template) { t.Total, t.Issued = -1, 0 }), ErrInvalidTemplate, "-1"},
		"least total":        {changed(func(t *Template) { t.Total, t.Issued = math.MinInt64, 0 }), ErrInvalidTemplate, "-9223372036854775808"},
		"negative issued":    {changed(func(t *Template) { t.Issued = -1 }), ErrInvalidTemplate, "-1 issued"},
		"negative minimum":   {changed(func(t *Template) { t.MinAmountCents = -1 }), ErrInvalidTemplate, "minimum -1"},
		"one too many":       {changed(func(t *Template) { t.Issued = t.Total + 1 }), ErrInvalidTemplate, "101 issued of a total of 100"},
		"issued of none":     {changed(func(t *Template) { t.Total, t.Issued = 0, 1 }), ErrInvalidTemplate, "1 issued"},
		"no kind":            {changed(func(t *Template) { t.Kind = "" }), ErrInvalidKind, `""`},
		"unknown kind":       {changed(func(t *Template) { t.Kind = "Amount" }), ErrInvalidKind, `"Amount"`},
		"amount of 0":        {changed(func(t *Template) { t.Value = 0 }), ErrInvalidValue, "0 of kind amount"},
		"negative amount":    {changed(func(t *Template) { t.Value = -1 }), ErrInvalidValue, "-1"},
		"0 percent paid":     {changed(func(t *Template) { t.Kind, t.Value = KindPercent, 0 }), ErrInvalidValue, "0 of kind percent"},
		"101 percent paid":   {changed(func(t *Template) { t.Kind, t.Value = KindPercent, 101 }), ErrInvalidValue, "101"},
		"shipping for 1":     {changed(func(t *Template) { t.Kind, t.Value = KindFreeShipping, 1 }), ErrInvalidValue, "1 of kind free_shipping"},
		"shipping for less":  {changed(func(t *Template) { t.Kind, t.Value = KindFreeShipping, -1 }), ErrInvalidValue, "-1"},
		"id before counts":   {Template{Total: -1, Kind: "none"}, ErrEmptyTemplateID, ""},
		"counts before kind": {Template{ID: "a", Total: -1, Kind: "none"}, ErrInvalidTemplate, "-1"},
		"kind before value":  {Template{ID: "a", Value: -1, Kind: "none"}, ErrInvalidKind, `"none"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Validate(c.template)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.numbers) {
				t.Fatalf("%+v: %v, want %v with %q", c.template, err, c.want, c.numbers)
			}
		})
	}
}

func TestValidate_AcceptsEveryBound(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]Template{
		"as configured":    amountTemplate(),
		"total 0":          changed(func(t *Template) { t.Total, t.Issued = 0, 0 }),
		"all issued":       changed(func(t *Template) { t.Issued = t.Total }),
		"the most":         changed(func(t *Template) { t.Total, t.Issued, t.MinAmountCents = math.MaxInt64, math.MaxInt64, math.MaxInt64 }),
		"no minimum":       changed(func(t *Template) { t.MinAmountCents = 0 }),
		"amount of 1":      changed(func(t *Template) { t.Value = 1 }),
		"highest amount":   changed(func(t *Template) { t.Value = math.MaxInt64 }),
		"1 percent paid":   changed(func(t *Template) { t.Kind, t.Value = KindPercent, 1 }),
		"100 percent paid": changed(func(t *Template) { t.Kind, t.Value = KindPercent, 100 }),
		"free shipping":    changed(func(t *Template) { t.Kind, t.Value = KindFreeShipping, 0 }),
	} {
		if err := Validate(template); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIssue_CountsUpToTheTotal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		template Template
		n, want  int64 // issued then
	}{
		"some":               {amountTemplate(), 10, 50},
		"just full":          {amountTemplate(), 60, 100},
		"none":               {amountTemplate(), 0, 40},
		"none of a full one": {changed(func(t *Template) { t.Issued = t.Total }), 0, 100},
		"none of total 0":    {changed(func(t *Template) { t.Total, t.Issued = 0, 0 }), 0, 0},
		"all of the most":    {changed(func(t *Template) { t.Total, t.Issued = math.MaxInt64, 0 }), math.MaxInt64, math.MaxInt64},
		"last of the most":   {changed(func(t *Template) { t.Total, t.Issued = math.MaxInt64, math.MaxInt64-1 }), 1, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.template
			got, err := Issue(c.template, c.n)
			want := before
			want.Issued = c.want
			if err != nil || got != want {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
			if c.template != before {
				t.Fatalf("the argument is %+v, was %+v", c.template, before)
			}
		})
	}
}

func TestIssue_RefusesAndReturnsNothing(t *testing.T) {
	t.Parallel()
	full := changed(func(t *Template) { t.Issued = t.Total })
	for name, c := range map[string]struct {
		template Template
		n        int64
		want     error
		numbers  string
	}{
		"one over":                   {amountTemplate(), 61, ErrOverIssue, "61 asked for, 60 of 100 left"},
		"one of a full one":          {full, 1, ErrOverIssue, "1 asked for, 0 of 100 left"},
		"one of total 0":             {changed(func(t *Template) { t.Total, t.Issued = 0, 0 }), 1, ErrOverIssue, "0 of 0 left"},
		"the most beside some":       {amountTemplate(), math.MaxInt64, ErrOverIssue, "9223372036854775807 asked for"},
		"the most, one is gone":      {changed(func(t *Template) { t.Total, t.Issued = math.MaxInt64, 1 }), math.MaxInt64, ErrOverIssue, "left"},
		"negative":                   {amountTemplate(), -1, ErrNegativeIssue, "-1"},
		"least":                      {amountTemplate(), math.MinInt64, ErrNegativeIssue, "-9223372036854775808"},
		"negative of a broken one":   {Template{}, -1, ErrNegativeIssue, "-1"},
		"none of a broken one":       {Template{}, 0, ErrEmptyTemplateID, ""},
		"too many of a broken one":   {changed(func(t *Template) { t.Issued = t.Total + 1 }), 1_000, ErrInvalidTemplate, "101"},
		"too many of unknown kind":   {changed(func(t *Template) { t.Kind = "x" }), 1_000, ErrInvalidKind, `"x"`},
		"too many of an amount of 0": {changed(func(t *Template) { t.Value = 0 }), 1_000, ErrInvalidValue, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.template
			got, err := Issue(c.template, c.n)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.numbers) {
				t.Errorf("%v, want %v with %q", err, c.want, c.numbers)
			}
			if got != (Template{}) {
				t.Errorf("returned %+v with an error", got)
			}
			if c.template != before {
				t.Errorf("the argument is %+v, was %+v", c.template, before)
			}
		})
	}
}

func TestIssue_NeverMoreThanTheTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		template := Template{ID: "a", Kind: KindAmount, Value: 1, Total: rapid.Int64Min(0).Draw(rt, "total")}
		template.Issued = rapid.Int64Range(0, template.Total).Draw(rt, "issued")
		n := rapid.Int64().Draw(rt, "n")
		got, err := Issue(template, n)
		fits := n >= 0 && uint64(template.Issued)+uint64(n) <= uint64(template.Total)
		if (err == nil) != fits {
			rt.Fatalf("%d of %d, %d more: %v", template.Issued, template.Total, n, err)
		}
		if err == nil && (got.Issued-n != template.Issued || Validate(got) != nil) {
			rt.Fatalf("%d of %d, %d more: %+v", template.Issued, template.Total, n, got)
		}
	})
}
