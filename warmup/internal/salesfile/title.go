package salesfile

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"sluice/shared/sale"
)

// readTitle reads one title for all buyers, or a mapping of languages to titles. The
// first language is needed: it is for everybody whose language is not there.
func readTitle(s *Sale, v value) (err error) {
	if _, several := v.node.(ast.MapNode); !several {
		s.Title, err = v.text(maxTitle)
		return err
	}
	fields, err := v.fields()
	if err != nil {
		return err
	}
	titles, languages := map[string]string{}, sale.TitleLanguages()
	for _, f := range fields {
		if !slices.Contains(languages, f.name) {
			return f.errorf("unknown language; known are %s", strings.Join(languages, ", "))
		}
		if titles[f.name], err = f.text(maxTitle); err != nil {
			return err
		}
	}
	first := languages[0]
	if s.Title = titles[first]; s.Title == "" {
		return value{v.join(first), v.node}.errorf("is missing")
	}
	if delete(titles, first); len(titles) > 0 {
		s.Titles = titles
	}
	return nil
}
