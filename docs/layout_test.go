package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var directory = regexp.MustCompile(`(?:[a-z]+/)+[a-z]*`)

// layout is which directories the layout in ARCHITECTURE.md names. internal/… is of the
// program that was named last.
func layout(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Layout and imports\n")
	_, section, _ = strings.Cut(section, "```\n")
	section, _, _ = strings.Cut(section, "```\n")
	named, program := map[string]bool{}, ""
	for _, found := range directory.FindAllString(section, -1) {
		if strings.HasPrefix(found, "internal/") {
			found = program + "/" + found
		}
		program, _, _ = strings.Cut(found, "/")
		named[strings.TrimSuffix(found, "/")] = true
	}
	return named
}

// packages is which directories have Go files.
func packages(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "out", "testdata"}, name)) {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".go" {
			found[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestArchitecture_LayoutNamesEveryPackageAndNoOther(t *testing.T) {
	t.Parallel()
	named, there := layout(t), packages(t)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !named[name] {
			t.Errorf("the layout leaves %s out", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !there[name] {
			t.Errorf("the layout names %s, which has no Go files", name)
		}
	}
}
