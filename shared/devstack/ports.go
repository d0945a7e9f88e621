package devstack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports come from below the kernel's ephemeral range, so that no outgoing
// connection takes the port of a server that is just being restarted.
const (
	firstPort = 20000
	lastPort  = 29999
)

// Port is a TCP port on loopback that no other process which reserves its ports
// here will be given. It stays reserved while its server is down.
type Port struct {
	number int
	lock   *os.File
}

// ReservePort picks a free port. Release it when its server is gone for good; the
// end of the process releases it too.
func ReservePort() (*Port, error) {
	dir := filepath.Join(os.TempDir(), "sluice-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot keep port reservations: %w", err)
	}
	// Other users of this machine reserve their ports here too.
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil && !errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("cannot share port reservations: %w", err)
	}
	start := rand.IntN(lastPort - firstPort + 1)
	for i := range lastPort - firstPort + 1 {
		number := firstPort + (start+i)%(lastPort-firstPort+1)
		if lock := lockPort(dir, number); lock != nil {
			return &Port{number: number, lock: lock}, nil
		}
	}
	return nil, fmt.Errorf("cannot reserve a port: all of %d to %d are taken", firstPort, lastPort)
}

// Addr returns "127.0.0.1:N".
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number)) }

// Number returns the port alone.
func (p *Port) Number() int { return p.number }

// Release lets others have the port.
func (p *Port) Release() error {
	if err := p.lock.Close(); err != nil {
		return fmt.Errorf("cannot release port %d: %w", p.number, err)
	}
	return nil
}

// lockPort returns the held lock of a port that nobody reserved or listens on,
// else nil. The file stays: removing it would let two processes lock two files.
func lockPort(dir string, number int) *os.File {
	file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !bindable(number) {
		_ = file.Close()
		return nil
	}
	return file
}

func bindable(number int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(number)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
