package usage

import (
	"net"
	"os"
	"testing"
	"time"
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

func TestAccepted_TellsWhichClientsHaveLeft(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	want := func(wantOpen, wantLeft int) {
		t.Helper()
		var open, left int
		for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
			var err error
			if open, left, err = Accepted(port); err != nil {
				t.Fatal(err)
			}
			if open == wantOpen && left == wantLeft {
				return
			}
		}
		t.Fatalf("%d open, %d left, want %d and %d", open, left, wantOpen, wantLeft)
	}
	want(0, 0)
	var clients, servers []net.Conn
	for range 3 {
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = client.Close(), server.Close() }()
		clients, servers = append(clients, client), append(servers, server)
	}
	want(3, 0)
	_ = clients[0].Close()
	want(3, 1)
	_ = servers[0].Close()
	want(2, 0)
}
