package stack

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/shared/service"
)

func noEnv(string) string { return "" }

func (c Config) args() []string {
	return []string{"-sales", c.SalesFile, "-out", c.OutDir, "-bin", c.BinDir, "-gateways", "1"}
}

func TestUp_WrongUseIsOneClearLine(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	for want, args := range map[string][]string{
		"-sales is missing":          {"-bin", config.BinDir},
		"cannot read the sales file": {"-bin", config.BinDir, "-sales", "nowhere.yaml"},
		"gateway is not in /nowhere": {"-bin", "/nowhere", "-sales", config.SalesFile},
		"-gateways must be 1 to 16":  {"-gateways", "0", "-sales", config.SalesFile},
		"-workers must be 1 to 16":   {"-workers", "99", "-sales", config.SalesFile},
		"-colour":                    {"-colour", "red"},
	} {
		err := Up(t.Context(), args, noEnv, &bytes.Buffer{}, &bytes.Buffer{})
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Up(%q) says %v, want %q", args, err, want)
		}
	}
}

func TestStart_FailuresSayWhyAndLeaveNothing(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]Config{
		"warmup: sales file: line 1: bad sale": fakeConfig(t, "bad", ""),
		"no licence today":                     fakeConfig(t, "sales: []", "die"),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := Start(within(t), config)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, want)
			}
			if _, err := os.Stat(filepath.Join(config.OutDir, InfoFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a stack that is not there was announced: %v", err)
			}
		})
	}
}

func TestStart_SecondStackWithTheSameOutputIsRefused(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	ctx := within(t)
	start(ctx, t, config)
	if _, err := Start(ctx, config); err == nil || !strings.Contains(err.Error(), "another stack runs") {
		t.Errorf("a second stack: %v", err)
	}
	if _, err := ReadInfo(filepath.Join(config.OutDir, InfoFile)); err != nil {
		t.Errorf("the first stack's announcement is gone: %v", err)
	}
}

// runUp runs the supervisor as a process of its own and waits for its announcement.
func runUp(t *testing.T, config Config) (*exec.Cmd, Info, *bytes.Buffer) {
	t.Helper()
	var stdout bytes.Buffer
	up := exec.Command(os.Args[0], config.args()...)
	up.Env = append(os.Environ(), fakeProgram+"=up")
	up.Stdout, up.Stderr = &stdout, os.Stderr
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Process.Kill() }) // fails when the test went well
	var info Info
	err := poll(within(t), func() (err error) {
		info, err = ReadInfo(filepath.Join(config.OutDir, InfoFile))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return up, info, &stdout
}

func TestUp_SignalEndsEverythingWithinTwentySeconds(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			config := fakeConfig(t, "sales: []", "")
			up, info, stdout := runUp(t, config)
			signalled := time.Now()
			if err := up.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := up.Wait(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(signalled); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if !strings.Contains(stdout.String(), info.Gateways[0].URL) {
				t.Errorf("the summary does not say where the gateway is:\n%s", stdout)
			}
			if !strings.Contains(stdout.String(), "the buyer's page: "+info.Gateways[0].URL+"/\n") {
				t.Errorf("the summary does not say where the page is:\n%s", stdout)
			}
			expectGone(t, info)
			if _, err := os.Stat(info.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", info.Dir, err)
			}
		})
	}
}

func TestUp_KilledLeavesNoChildAndMayStartAgain(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t, "sales: []", "")
	up, info, _ := runUp(t, config)
	if err := up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = up.Wait()
	t.Cleanup(func() { _ = os.RemoveAll(info.Dir) })
	expectGone(t, info)
	start(within(t), t, config)
}

// expectGone waits until nothing of the stack answers any more.
func expectGone(t *testing.T, info Info) {
	t.Helper()
	err := poll(within(t), func() error {
		for _, address := range []string{info.Redis.URL, info.NATS.URL, info.Postgres.URL, info.Gateways[0].OpsURL, info.Workers[0].AdminURL} {
			if answers(t, address) {
				return errors.New(address + " still answers")
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
