package compare

import "testing"

func TestWrong_ABaselineMustShowTooManyAndDoubles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given []given
		fails int
	}{
		"both, in one template or the other": {[]given{{Total: 10, Issued: 11}, {Total: 10, Issued: 10, Doubles: 1}}, 0},
		"no doubles":                         {[]given{{Total: 10, Issued: 11}, {Total: 10, Issued: 12}}, 1},
		"none too many":                      {[]given{{Total: 10, Issued: 9, Doubles: 2}, {Total: 10, Issued: 10}}, 1},
		"nothing wrong":                      {[]given{{Total: 10, Issued: 10}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r run
			r.rep.Verdict.Pass = true
			var sides []side
			for _, g := range c.given {
				sides = append(sides, side{given: g})
			}
			r.wrong("incident", 0, sides)
			if found := r.rep.Verdict; len(found.Violations) != c.fails || found.Pass != (c.fails == 0) {
				t.Errorf("%+v, want %d violations", found, c.fails)
			}
		})
	}
}
