package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutation is one protection taken away.
type Mutation struct {
	Name       string   // as it is asked for
	Protection string   // that is gone
	Takes      string   // what does not happen any more, in words
	Row        string   // of the matrix of faults: the one that must notice
	Finds      []string // findings of which the row must make one: an invariant, and what its detail must say, if anything
	Seen       string   // what is seen, in words: where another protection stands behind this one, what it makes of it

	edits []edit
}

// edit replaces a piece of text that is in a file exactly once.
type edit struct {
	file     string // below the root of the sources
	old, new string
}

// Find returns the mutation of that name.
func Find(name string) (Mutation, error) {
	var names []string
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mutation{}, fmt.Errorf("there is no mutation %q: there are %s", name, strings.Join(names, ", "))
}

// Apply returns the files that the mutation changes in the sources at root, as they are
// then, by path.
func (m Mutation) Apply(root string) (map[string]string, error) {
	edited := make(map[string]string)
	for _, e := range m.edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		text, known := edited[path]
		if !known {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("cannot apply mutation %s: %w", m.Name, err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("cannot apply mutation %s: %s has %d times, not once, what it replaces: %q", m.Name, e.file, n, e.old)
		}
		edited[path] = strings.Replace(text, e.old, e.new, 1)
	}
	return edited, nil
}
