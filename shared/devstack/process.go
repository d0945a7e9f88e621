package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a child process that does not outlive this one.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// StartProcess starts cmd. When this process dies, the kernel sends the child the
// death signal (Linux only). cmd.SysProcAttr is set here, but for its Credential.
func StartProcess(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	var cred *syscall.Credential
	if cmd.SysProcAttr != nil {
		cred = cmd.SysProcAttr.Credential
	}
	cmd.SysProcAttr = childAttr(death, cred)
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// run starts the child and reaps it. The death signal follows the end of the
// thread, not of the process, so this goroutine keeps its thread until then.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // how it ended is in its ProcessState
	}
}

// PID returns the process id; it stays valid as a number after the exit.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed once the child has ended and was reaped.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status says how the child ended, such as "exit status 1"; "running" before.
func (p *Process) Status() string {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.String()
	default:
		return "running"
	}
}

// Kill ends the child at once with SIGKILL and waits until it is reaped.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// Stop asks the child to end with sig and waits for it. After grace it is killed,
// which is reported as an error.
func (p *Process) Stop(sig syscall.Signal, grace time.Duration) error {
	if err := p.signal(sig); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
	}
	err := fmt.Errorf("%s did not stop within %s of %s and was killed", p.cmd.Path, grace, sig)
	return errors.Join(err, p.Kill())
}

// signal is no error when the child has ended already.
func (p *Process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %s to %s: %w", sig, p.cmd.Path, err)
	}
	return nil
}
