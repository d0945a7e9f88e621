package stack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The supervisor is tested with real stores, but with stand-ins for the programs:
// this test binary itself, which becomes one when these variables are set.
const (
	fakeProgram = "FAKE_PROGRAM" // gateway, worker, warmup, or up for the supervisor itself
	fakeAction  = "FAKE_ACTION"  // what the stand-in does wrong
)

func TestMain(m *testing.M) {
	var err error
	switch program := os.Getenv(fakeProgram); program {
	case "":
		os.Exit(m.Run())
	case "up":
		err = actAsUp()
	case "warmup":
		err = actAsWarmup(os.Args[1:])
	default:
		err = actAsServer()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// actAsServer answers /readyz and its own failpoint variable, until SIGTERM.
func actAsServer() error {
	if os.Getenv(fakeAction) == "die" {
		return fmt.Errorf("no licence today")
	}
	if os.Getenv("SLUICE_FAILPOINTS") == "panic" {
		fmt.Fprintln(os.Stderr, "panic: as told")
	}
	listener, err := net.Listen("tcp", os.Getenv("SLUICE_OPS_LISTEN"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/environment", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Join(os.Environ(), "\n"))
	})
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func actAsWarmup(args []string) error {
	if args[0] != "apply" {
		return nil
	}
	content, err := os.ReadFile(args[len(args)-1])
	if err == nil && strings.Contains(string(content), "bad") {
		err = fmt.Errorf("warmup: sales file: line 1: bad sale")
	}
	return err
}

func actAsUp() error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return Up(ctx, os.Args[1:], func(string) string { return "" }, os.Stdout, os.Stderr)
}

// fakeConfig is a stack of stand-ins. action is what they do wrong, if anything.
func fakeConfig(t *testing.T, sales, action string) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	dir := t.TempDir()
	config := Config{
		Gateways: 2, Workers: 1, SalesFile: filepath.Join(dir, "sales.yaml"),
		OutDir: filepath.Join(dir, "out"), BinDir: filepath.Join(dir, "bin"),
	}
	if err := os.Mkdir(config.BinDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config.SalesFile, []byte(sales), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"gateway", "worker", "warmup"} {
		script := fmt.Sprintf("#!/bin/sh\n%s=%s %s=%s exec %s \"$@\"\n", fakeProgram, program, fakeAction, action, self)
		if err := os.WriteFile(filepath.Join(config.BinDir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	nats, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "nats-server"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(nats, filepath.Join(config.BinDir, "nats-server")); err != nil {
		t.Fatal(err)
	}
	return config
}
