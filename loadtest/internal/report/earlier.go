package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// files are what Write leaves in a directory.
var files = []string{"report.json", "report.html"}

// SetAside takes the report of an earlier run in dir out of the way of one that begins: who
// looks while it runs, or after it was killed, must not take one for the other. back puts
// it back unless there is a new one.
func SetAside(dir string) (back func() error, err error) {
	for _, name := range files {
		if err := os.Remove(asideOf(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) { // of a run that was killed
			return nil, fmt.Errorf("cannot remove an old report: %w", err)
		}
		if err := os.Rename(filepath.Join(dir, name), asideOf(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("cannot set the report of an earlier run aside: %w", err)
		}
	}
	return func() error { return putBack(dir) }, nil
}

func asideOf(dir, name string) string { return filepath.Join(dir, ".earlier-"+name) }

func putBack(dir string) error {
	_, missing := os.Stat(filepath.Join(dir, files[0]))
	for _, name := range files {
		var err error
		if missing == nil {
			err = os.Remove(asideOf(dir, name))
		} else {
			err = os.Rename(asideOf(dir, name), filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot put the report of an earlier run back, or remove it: %w", err)
		}
	}
	return nil
}
