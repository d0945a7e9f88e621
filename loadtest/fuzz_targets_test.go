package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What `make test` and `make long` fuzz is every target that there is.
func TestFuzz_EveryTargetIsRunByMake(t *testing.T) {
	t.Parallel()
	want := fuzzTargets(t)
	for goal, fuzztime := range map[string]string{"test": "5s", "long": "60s"} {
		modules := fuzzedModules(t, goal, fuzztime)
		cmd := exec.CommandContext(t.Context(), "scripts/fuzz.sh", append([]string{"list"}, modules...)...)
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(strings.TrimSpace(string(out)), "\n"); !slices.Equal(got, want) {
			t.Errorf("make %s fuzzes\n%s\nthere are\n%s", goal, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// fuzzTargets finds the targets as the compiler does: "package target", sorted.
func fuzzTargets(t *testing.T) (targets []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, fmt.Sprint(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"), " ", f.Name.Name))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(targets)
	return targets
}

// fuzzedModules are those that a goal gives the script, with the time.
func fuzzedModules(t *testing.T, goal, fuzztime string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "make", "-C", "..", "-n", goal).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "scripts/fuzz.sh" && fields[1] == fuzztime {
			return fields[2:]
		}
	}
	t.Fatalf("make %s does not fuzz for %s", goal, fuzztime)
	return nil
}
