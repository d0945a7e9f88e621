package httpapi

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// socket is what is under a connection; nil when there is none to look at.
func socket(conn net.Conn) syscall.RawConn {
	for {
		switch c := conn.(type) {
		case syscall.Conn:
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// gone reports whether the peer has closed its side, or the connection is broken. It
// takes nothing out of the connection: what follows may be a request.
func gone(raw syscall.RawConn) bool {
	if raw == nil {
		return false
	}
	var n int
	var err error
	closed := raw.Control(func(fd uintptr) {
		var next [1]byte
		n, _, err = syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	switch {
	case closed != nil:
		return true
	case err != nil:
		return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	default:
		return n == 0
	}
}

// userTimeout is TCP_USER_TIMEOUT, which package syscall has no name for.
const userTimeout = 18

// breakUnread has the kernel break the connection when what is written is not taken
// for so long: a peer that has vanished, or reads no more, while there is still room
// in the buffers between.
func breakUnread(raw syscall.RawConn, after time.Duration) error {
	if raw == nil {
		return nil
	}
	var err error
	closed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(after.Milliseconds()))
	})
	return errors.Join(closed, err)
}
