//go:build unix && !linux

package devstack

import "syscall"

// childAttr makes a child that runs as cred (nil: as this process), out of reach
// of the terminal's Ctrl-C. Only Linux can tie a child's life to its parent's: here
// a parent that is killed leaves its children behind.
func childAttr(_ syscall.Signal, cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}
