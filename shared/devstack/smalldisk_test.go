package devstack

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func mountSmall(t *testing.T, parent string) *SmallDisk {
	t.Helper()
	disk, err := MountSmallDisk(parent, 4)
	if errors.Is(err, ErrNoDisk) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

func TestSmallDisk_FullTakesNothingUntilItIsFreed(t *testing.T) {
	t.Parallel()
	disk := mountSmall(t, t.TempDir())
	defer func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	}()
	write := func() error { return os.WriteFile(filepath.Join(disk.Dir(), "file"), []byte("content"), 0o600) }
	for range 2 {
		if err := disk.Fill(); err != nil {
			t.Fatal(err)
		}
		if err := write(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("full: %v", err)
		}
		if err := disk.Free(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(), os.Remove(filepath.Join(disk.Dir(), "file"))); err != nil {
			t.Fatalf("freed: %v", err)
		}
	}
}

func TestSmallDisk_TakesThePlaceOfOneThatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	left := mountSmall(t, parent)
	if err := left.Fill(); err != nil {
		t.Fatal(err)
	}
	disk := mountSmall(t, parent)
	if _, err := os.Stat(disk.ballast()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was there before: %v", err)
	}
	if err := disk.Close(); err != nil { // both: nothing else is mounted there
		t.Error(err)
	}
}
