package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// Sources change, and a mutation that does not fit any more would be noticed only when
// somebody runs it.
func TestAll_EachFitsTheSourcesAndChangesThem(t *testing.T) {
	t.Parallel()
	for _, m := range All() {
		edited, err := m.Apply(root)
		if err != nil {
			t.Error(err)
		}
		if len(edited) == 0 {
			t.Errorf("%s changes nothing", m.Name)
		}
		for path, text := range edited {
			if was, err := os.ReadFile(path); err != nil || string(was) == text {
				t.Errorf("%s leaves %s as it is: %v", m.Name, path, err)
			}
		}
	}
}

func TestAll_AreToldApartAndSaidInWords(t *testing.T) {
	t.Parallel()
	names, protections := make(map[string]bool), make(map[string]bool)
	for _, m := range All() {
		if names[m.Name] || protections[m.Protection] {
			t.Errorf("%s is there twice", m.Name)
		}
		names[m.Name], protections[m.Protection] = true, true
		if m.Takes == "" || m.Row == "" || m.Protection == "" {
			t.Errorf("%+v does not say what it takes away, and which row must notice", m)
		}
	}
}

func TestApply_RefusesWhatFitsNotAtAllOrTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.lua"), []byte("a b a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{"a": "2 times", "c": "0 times", "b": ""} {
		m := Mutation{Name: "m", edits: []edit{{"f.lua", old, "x"}}}
		edited, err := m.Apply(dir)
		if want == "" && (err != nil || edited[filepath.Join(dir, "f.lua")] != "a x a") {
			t.Errorf("replacing %q: %v, %v", old, edited, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("replacing %q: error %v, want one with %q", old, err, want)
		}
	}
}

func TestBuild_RefusesWhatItCannotBuild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, name, want string }{
		{root, "gravity_off", `no mutation "gravity_off": there are`},
		{t.TempDir(), "run_id_check_off", "-src"},
	} {
		if err := Build(t.Context(), c.src, c.name, t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s from %s: error %v, want one with %q", c.name, c.src, err, c.want)
		}
	}
}
