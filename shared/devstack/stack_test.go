package devstack

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestStacks_SideBySideShareNothing(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	stacks := make([]*Stack, 2)
	errs := make([]error, 2)
	var wait sync.WaitGroup
	for i := range stacks {
		wait.Go(func() { stacks[i], errs[i] = Start(ctx, Options{}) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, stack := range stacks {
		for _, server := range []*Server{stack.Redis, stack.NATS, stack.Postgres} {
			seen[server.URL()], seen[server.Dir()] = true, true
		}
	}
	if len(seen) != 12 {
		t.Errorf("two stacks have only %d distinct addresses and directories: %v", len(seen), seen)
	}
	for _, stack := range stacks {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(stack.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", stack.Dir(), err)
		}
		if conn, err := net.Dial("tcp", stack.Redis.port.Addr()); err == nil {
			t.Errorf("redis still answers on %s", conn.RemoteAddr())
			_ = conn.Close()
		}
	}
}

func TestServers_DieWithTheirKilledParent(t *testing.T) {
	t.Parallel()
	needsServers(t)
	dir := t.TempDir()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperDir+"="+dir)
	helper.Stderr = os.Stderr
	stdout, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	var h held
	if err := errors.Join(readErr, json.Unmarshal(line, &h)); err != nil || len(h.PIDs) != 8 {
		t.Fatalf("helper says %q: %v", line, err)
	}
	eventually(t, fmt.Sprint("all of ", h.PIDs, " ended"), func() bool {
		for i, pid := range h.PIDs {
			if alive(pid) || answers(h.Addrs[i]) {
				return false
			}
		}
		return len(processesOf(t, dir)) == 0
	})
}

// alive does not count a zombie: its new parent may take its time to reap it.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func answers(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// processesOf lists the processes whose working directory is below dir: Postgres's
// backends work in its data directory.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			found = append(found, link)
		}
	}
	return found
}

func TestForTest_ServersAreShared(t *testing.T) {
	t.Parallel()
	for name, forTest := range map[string]func(testing.TB) *Server{
		"redis": RedisForTest, "nats": NATSForTest, "postgres": PostgresForTest,
	} {
		if first, second := forTest(t), forTest(t); first != second {
			t.Errorf("a second %s was started", name)
		}
	}
}
