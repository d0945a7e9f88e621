package chaos

import (
	"testing"

	"sluice/shared/sale"
)

func TestControl_PassesWithWhatItMustShowAndNothingElse(t *testing.T) {
	t.Parallel()
	lost, oversold := sale.Violation{Invariant: "I3", Detail: "vanished"}, sale.Violation{Invariant: "I1", Detail: "one too many"}
	for name, c := range map[string]struct {
		shows             []string
		found             []sale.Violation
		shown, violations int
	}{
		"no control, nothing found":      {nil, nil, 0, 0},
		"no control, found":              {nil, []sale.Violation{lost, oversold}, 0, 2},
		"shows what it must":             {[]string{"I3"}, []sale.Violation{lost, lost}, 2, 0},
		"shows nothing":                  {[]string{"I3"}, nil, 0, 1},
		"shows something else":           {[]string{"I3"}, []sale.Violation{oversold}, 0, 2},
		"shows what it must, and others": {[]string{"I3"}, []sale.Violation{oversold, lost}, 1, 1},
		"shows what may come with it":    {[]string{"I3", "I1"}, []sale.Violation{oversold, lost}, 2, 0},
		"shows it by its words":          {[]string{"I3 vanish"}, []sale.Violation{lost}, 1, 0},
		"shows the same otherwise":       {[]string{"I3 rejected"}, []sale.Violation{lost}, 0, 2},
		"may come in these words only":   {[]string{"I3 vanish", "I1 two"}, []sale.Violation{lost, oversold}, 1, 1},
		"shows only what may come":       {[]string{"I3", "I1"}, []sale.Violation{oversold}, 1, 1},
	} {
		shown, violations := Row{Shows: c.shows}.told(c.found)
		if len(shown) != c.shown || len(violations) != c.violations {
			t.Errorf("%s: shown %v, violations %v", name, shown, violations)
		}
	}
}
