package devstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These change the environment, so they do not run in parallel.

func TestStart_MissingProgramSaysWhatToInstall(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	_, redisErr := StartRedis(t.Context(), Options{})
	_, natsErr := StartNATS(t.Context(), Options{BinDir: empty})
	_, postgresErr := findPostgres(filepath.Join(empty, "*", "postgres"))
	for want, err := range map[string]error{
		"apt-get install redis-server":      redisErr,
		filepath.Join(empty, "nats-server"): natsErr,
		"apt-get install postgresql":        postgresErr,
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "make setup") {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestStart_FailureShowsTheLogAndLeavesNothing(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "nats-server")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho 'no licence today'\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := StartNATS(t.Context(), Options{Dir: dir, BinDir: dir})
	if err == nil || !strings.Contains(err.Error(), "no licence today") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error does not show what happened: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "nats")); !os.IsNotExist(err) {
		t.Errorf("the server's directory is left behind: %v", err)
	}
}

func TestTempDirs_OfKilledProcessesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	held, err := newTempDir()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(parent, tempPrefix+"left")
	foreign := filepath.Join(parent, "sluice-other")
	for _, dir := range []string{filepath.Join(left, "postgres", "data"), foreign} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }

	removeLeftovers(parent, time.Now().Add(-tempGrace))
	if !exists(left) {
		t.Error("a directory was removed that its maker may be about to lock")
	}
	removeLeftovers(parent, time.Now().Add(time.Second))
	if exists(left) || !exists(held.path) || !exists(foreign) {
		t.Errorf("left %t, held %t, foreign %t; want only the first to be gone", exists(left), exists(held.path), exists(foreign))
	}
	if err := held.remove(); err != nil || exists(held.path) {
		t.Errorf("removing it: %v", err)
	}
}

func TestPostgresTemplate_IsMadeOnceByParallelStarts(t *testing.T) {
	ctx := needsServers(t)
	tmp := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(tmp, 0o700); err != nil { // as a careful root's temp dir is
		t.Fatal(err)
	}
	for _, above := range []string{filepath.Dir(tmp), filepath.Dir(filepath.Dir(tmp))} {
		if err := os.Chmod(above, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", tmp)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			server, err := StartPostgres(context.WithoutCancel(ctx), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	templates, err := filepath.Glob(filepath.Join(tmp, "sluice-cache-*", "postgres-*", "data"))
	if err != nil || len(templates) != 1 {
		t.Fatalf("templates %v: %v", templates, err)
	}
}

func TestReservePort_NoPortIsGivenTwice(t *testing.T) {
	t.Parallel()
	given := map[int]bool{}
	for range 50 {
		port, err := ReservePort()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := port.Release(); err != nil {
				t.Error(err)
			}
		})
		if given[port.Number()] || port.Number() < firstPort || port.Number() > lastPort {
			t.Fatalf("port %d was given already or is out of range", port.Number())
		}
		given[port.Number()] = true
		dir := filepath.Join(os.TempDir(), "sluice-ports")
		if lock := lockPort(dir, port.Number()); lock != nil {
			t.Fatalf("port %d can be reserved twice", port.Number())
		}
	}
}
