package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sluice/loadtest/internal/mutants"
)

// programs returns the directory with what a stack runs whose files are in dir: built
// there if it is to be without a protection.
func (c Config) programs(ctx context.Context, mutation, dir string) (string, error) {
	if mutation == "" {
		return c.BinDir, nil
	}
	own := ownPrograms(dir)
	if err := os.RemoveAll(own); err != nil { // of an earlier run
		return "", fmt.Errorf("cannot build for a stack: %w", err)
	}
	if err := mutants.Build(ctx, c.Src, mutation, own); err != nil {
		return "", err
	}
	server, err := filepath.Abs(filepath.Join(c.BinDir, "nats-server"))
	if err != nil {
		return "", fmt.Errorf("cannot find nats-server for a stack: %w", err)
	}
	if err := os.Symlink(server, filepath.Join(own, "nats-server")); err != nil {
		return "", fmt.Errorf("cannot use nats-server for a stack: %w", err)
	}
	return own, nil
}

func ownPrograms(dir string) string { return filepath.Join(dir, "bin") }
