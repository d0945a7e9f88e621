package deploy

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/jackc/pgx/v5"
	"sluice/shared/devstack"
)

// engine runs the services of docker-compose.yml as processes: stores are devstack's, and
// each other service has a loopback address of its own in the place of its name, with the
// ports, commands, environment and mounted files that the file gives it.
type engine struct {
	t         *testing.T
	project   *types.Project
	bin       string
	addresses map[string]string // of services
	stores    map[string]string // host:port of the file to where it is here
	processes map[string]*devstack.Process
	done      map[string]bool
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{t: t, bin: programs(t), project: project(t), addresses: map[string]string{}, stores: map[string]string{}, processes: map[string]*devstack.Process{}, done: map[string]bool{}}
	block := fmt.Sprintf("127.%d.%d.", 16+rand.IntN(200), rand.IntN(256))
	for i, name := range slices.Sorted(maps.Keys(e.project.Services)) {
		e.addresses[name] = fmt.Sprintf("%s%d", block, i+1)
	}
	monitor, err := devstack.ReservePort()
	e.must(err)
	t.Cleanup(func() { e.must(monitor.Release()) })
	stack, err := devstack.Start(t.Context(), devstack.Options{NATSMonitor: monitor.Addr()})
	e.must(err)
	t.Cleanup(func() { e.must(stack.Close()) })
	for name, url := range map[string]string{"redis:6379": stack.Redis.URL(), "nats:4222": stack.NATS.URL(), "postgres:5432": stack.Postgres.URL()} {
		e.stores[name] = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(url)
	}
	e.stores["nats:8222"] = monitor.Addr()
	e.makeDatabase(stack.Postgres.URL())
	return e
}

func (e *engine) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// makeDatabase does what Postgres's image does, but that the role is no superuser: the
// owner of the database is enough.
func (e *engine) makeDatabase(url string) {
	conn, err := pgx.Connect(e.t.Context(), url)
	e.must(err)
	defer conn.Close(e.t.Context())
	for _, statement := range []string{
		"CREATE ROLE sluice LOGIN PASSWORD '" + *e.project.Services["postgres"].Environment["POSTGRES_PASSWORD"] + "'", "CREATE DATABASE sluice OWNER sluice",
	} {
		_, err := conn.Exec(e.t.Context(), statement)
		e.must(err)
	}
}

var hostPort = regexp.MustCompile(`\b([a-z][a-z0-9-]*|0\.0\.0\.0|127\.0\.0\.1):(\d+)\b`)

// here is a text of a service's with the addresses that names have here.
func (e *engine) here(service, text string) string {
	text = hostPort.ReplaceAllStringFunc(text, func(found string) string {
		if store, ok := e.stores[found]; ok {
			return store
		}
		host, port, _ := strings.Cut(found, ":")
		if host == "0.0.0.0" || host == "127.0.0.1" {
			host = service
		}
		if address, ok := e.addresses[host]; ok {
			return address + ":" + port
		}
		return found
	})
	// Loopback has one address for who connects.
	return strings.ReplaceAll(text, e.project.Services["proxy"].Networks["front"].Ipv4Address, "127.0.0.1")
}

// command is a command line of a service, such as its health check, as a process.
func (e *engine) command(name string, words []string) *exec.Cmd {
	s := e.project.Services[name]
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = e.here(name, word)
		for _, v := range s.Volumes {
			if rest, inside := strings.CutPrefix(words[i], v.Target+"/"); inside {
				words[i] = filepath.Join(v.Source, rest)
			}
		}
	}
	cmd := exec.Command(filepath.Join(e.bin, words[0]), words[1:]...)
	cmd.Env = []string{"GORACE=" + os.Getenv("GORACE")}
	for variable, value := range s.Environment {
		cmd.Env = append(cmd.Env, variable+"="+e.here(name, *value))
	}
	cmd.Dir = e.t.TempDir()
	return cmd
}

// up starts a service once what it depends on is as it wants it.
func (e *engine) up(name string) {
	e.t.Helper()
	s := e.project.Services[name]
	if e.done[name] || s.Build == nil && name != "proxy" {
		return
	}
	e.done[name] = true
	for _, on := range slices.Sorted(maps.Keys(s.DependsOn)) {
		e.up(on)
	}
	if s.Restart == "no" {
		out, err := e.command(name, s.Command).CombinedOutput()
		if err != nil {
			e.t.Fatalf("job %s: %v\n%s", name, err, out)
		}
		return
	}
	if name == "proxy" {
		e.processes[name] = e.start(name, e.haproxy())
		return
	}
	e.processes[name] = e.start(name, e.command(name, s.Command))
}

func (e *engine) start(name string, cmd *exec.Cmd) *devstack.Process {
	e.t.Helper()
	output, err := os.Create(filepath.Join(e.t.TempDir(), name+".log"))
	e.must(err)
	cmd.Stdout, cmd.Stderr = output, output
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	e.must(err)
	e.t.Cleanup(func() {
		_ = process.Kill()
		_ = output.Close()
		if e.t.Failed() {
			text, _ := os.ReadFile(output.Name())
			e.t.Logf("%s: %s\n%s", name, process.Status(), text)
		}
	})
	return process
}

// haproxy is the proxy with its configuration.
func (e *engine) haproxy() *exec.Cmd {
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy"
	}
	if _, err := os.Stat(program); err != nil {
		e.t.Fatalf("haproxy is missing: run 'make setup': %v", err)
	}
	config := strings.ReplaceAll(e.here("proxy", readFile(e.t, "proxy", "haproxy.cfg")), "bind :", "bind "+e.addresses["proxy"]+":")
	file := filepath.Join(e.t.TempDir(), "haproxy.cfg")
	e.must(os.WriteFile(file, []byte(config), 0o600))
	if out, err := exec.CommandContext(e.t.Context(), program, "-c", "-f", file).CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
		e.t.Fatalf("haproxy does not take its configuration: %v\n%s", err, out)
	}
	return exec.Command(program, "-db", "-f", file)
}

// healthy runs a service's own health check.
func (e *engine) healthy(name string) {
	e.t.Helper()
	if out, err := e.command(name, e.project.Services[name].HealthCheck.Test[1:]).CombinedOutput(); err != nil {
		e.t.Errorf("%s is not healthy: %v\n%s", name, err, out)
	}
}

// wantOK asks until the URL answers 200.
func (e *engine) wantOK(url string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 20*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		e.must(err)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil && response.StatusCode == http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
			e.t.Fatalf("%s: %v, %v", url, response, err)
		case <-time.After(25 * time.Millisecond):
		}
	}
}
