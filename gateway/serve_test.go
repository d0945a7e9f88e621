package main

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// late is a listener that is served only once it is closed.
type late struct {
	net.Listener
	closed chan struct{}
}

func (l late) Close() error {
	defer close(l.closed)
	return l.Listener.Close()
}

func TestShutDown_EndsAServerThatHasNotBegun(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := late{listener, make(chan struct{})}
	server, served, ended := &fasthttp.Server{}, make(chan error, 1), make(chan error, 1)
	go func() {
		<-l.closed
		served <- server.Serve(listener)
	}()
	go func() { ended <- shutDown(server, l, served) }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("the server serves on")
	}
}
