package devstack

import "syscall"

// childAttr makes a child that gets death when the thread that started it ends,
// runs as cred (nil: as this process), and is out of reach of the terminal's
// Ctrl-C, so that the parent stops its children in its own order.
func childAttr(death syscall.Signal, cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: death, Setpgid: true, Credential: cred}
}
