package usage

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second // the machine may be busy

// shell runs a script until the test ends, and all that it has started.
func shell(t *testing.T, script string) (pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// await reads until there is as much.
func await(t *testing.T, least time.Duration, read func() (time.Duration, error)) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		used, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if used >= least {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s used, want %s", used, least)
		}
		time.Sleep(tick)
	}
}

func TestCPU_GrowsWithWhatAProcessUses(t *testing.T) {
	t.Parallel()
	before, err := Machine()
	if err != nil {
		t.Fatal(err)
	}
	pid := shell(t, "while :; do :; done")
	const much = 200 * time.Millisecond
	await(t, much, func() (time.Duration, error) { return CPU(pid) })
	await(t, much/2, func() (time.Duration, error) { // the machine counts by itself
		now, err := Machine()
		return now - before, err
	})
}

func TestFamily_CountsChildrenAliveAndEnded(t *testing.T) {
	t.Parallel()
	const script = `sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; ` // ends, and is reaped
	pid := shell(t, script+`sh -c 'while :; do :; done' & wait`)
	var ended time.Duration
	await(t, tick, func() (time.Duration, error) {
		stat, err := readStat(pid)
		ended = time.Duration(stat[statReaped]+stat[statReaped+1]) * tick
		return ended, err
	})
	await(t, ended+200*time.Millisecond, func() (time.Duration, error) { return Family(pid) })
	if own, err := CPU(pid); err != nil || own > 100*time.Millisecond {
		t.Errorf("the parent alone used %s: %v", own, err)
	}
}

func TestUsage_OfNoProcessIsAnError(t *testing.T) {
	t.Parallel()
	const none = 1 << 22 // above what Linux gives out
	for name, read := range map[string]func(int) (time.Duration, error){"CPU": CPU, "family": Family} {
		if _, err := read(none); err == nil {
			t.Errorf("%s of no process was read", name)
		}
	}
	if mb, err := ResidentMB(os.Getpid()); err != nil || mb < 1 {
		t.Errorf("this test holds %v MiB: %v", mb, err)
	}
}
