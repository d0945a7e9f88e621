package usage

import (
	"net"
	"os"
	"testing"
)

func TestOpen_CountsFilesAndSockets(t *testing.T) { // alone: others open and close meanwhile
	descriptors, sockets, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // it was only counted
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // it was only counted
	more, moreSockets, err := Open(os.Getpid())
	// The first listener of a process may make a descriptor to wait on, too.
	if err != nil || more < descriptors+2 || moreSockets != sockets+1 {
		t.Errorf("%d descriptors, %d of them sockets, then %d and %d: %v", descriptors, sockets, more, moreSockets, err)
	}
}

func TestOwnMB_IsSomeOfWhatIsResident(t *testing.T) {
	t.Parallel()
	own, err := OwnMB(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	resident, err := ResidentMB(os.Getpid())
	if err != nil || own <= 0 || own > resident+64 { // it may grow in between
		t.Errorf("%.1f MiB of its own of %.1f: %v", own, resident, err)
	}
	if _, err := OwnMB(-1); err == nil {
		t.Error("there is no such process, and it has memory")
	}
}
