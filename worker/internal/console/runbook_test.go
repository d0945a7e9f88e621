package console_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"sluice/worker/internal/console"
)

func TestRunbook_IsTheOneInTheRepository(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../../docs/runbook.md")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if string(console.Runbook()) != string(want) {
		t.Error("docs/runbook.md has changed: run 'go generate ./worker/internal/console'")
	}
}
