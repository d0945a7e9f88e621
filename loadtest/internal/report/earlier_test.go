package report

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSetAside_AnEarlierReportIsBackOnlyWithoutANewOne(t *testing.T) {
	t.Parallel()
	earlier := Report{Words: []string{"earlier"}}
	for name, c := range map[string]struct {
		during  func(t *testing.T, dir string)
		earlier bool // is there in the end
	}{
		"nothing is written":  {func(*testing.T, string) {}, true},
		"a report is written": {func(t *testing.T, dir string) { write(t, Report{}, dir) }, false},
		"the run before this one was killed": {func(t *testing.T, dir string) { // and wrote nothing
			if _, err := SetAside(dir); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, earlier, dir)
			was := read(t, dir)
			back, err := SetAside(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					t.Errorf("%s stands while the run is under way", name)
				}
			}
			c.during(t, dir)
			if err := back(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, dir) == was && was != ""; got != c.earlier {
				t.Errorf("the earlier report stands: %t", got)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".earlier*")); left != nil {
				t.Errorf("left %v", left)
			}
		})
	}
	if back, err := SetAside(filepath.Join(t.TempDir(), "none")); err != nil || back() != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func write(t *testing.T, r Report, dir string) {
	t.Helper()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// read is the report in dir; "" for none.
func read(t *testing.T, dir string) string {
	t.Helper()
	content, _ := os.ReadFile(filepath.Join(dir, files[0]))
	return string(content)
}
