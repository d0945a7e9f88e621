package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sluice/shared/connections"
)

// Bounds of a connection: a slow or silent client is cut.
const (
	requestTimeout = 5 * time.Second
	answerTimeout  = readTimeout + 5*time.Second
	idleTimeout    = 60 * time.Second
	headerBytes    = 8 << 10
)

// Server is the listener for buyers.
type Server struct {
	listener net.Listener
	places   *connections.Places
	http     *http.Server
}

// Listen takes addr at once, so that Addr is known and a taken port is an error
// at start; nothing is answered before Serve. As many requests are answered, or wait, as
// there are places.
func Listen(addr string, places *connections.Places, handler http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for buyers on %s: %w", addr, err)
	}
	return &Server{listener: places.Listen(listener), places: places, http: &http.Server{
		Handler: answering(handler), ConnContext: withConnection, ConnState: awaiting,
		ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerBytes,

		DisableGeneralOptionsHandler: true,                                              // OPTIONS * is a path like any other
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug), // clients' faults, one line each
	}}, nil
}

// Addr is the address listened on, with the port that was picked for :0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until Close, then returns nil.
func (s *Server) Serve() error {
	err := s.http.Serve(s.listener)
	s.places.Wait() // for those who are told that there is none
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve buyers on %s: %w", s.Addr(), err)
	}
	return nil
}

type connectionKey struct{}

// withConnection lets the requests of a connection know it.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// answering tells the connection of a request that its client is not awaited. If its place
// has just gone to another, nobody would get the answer.
func answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connectionKey{}).(*connections.Conn)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if !c.Answering() {
			panic(http.ErrAbortHandler)
		}
		if r.ContentLength != 0 {
			of := *r // the server looks at its own to decide whether to read what nobody read
			body := &awaitedBody{ReadCloser: r.Body, conn: c}
			of.Body, r = body, &of
			defer body.leave()
		}
		next.ServeHTTP(w, r)
	})
}

// awaitedBody is of a client that is awaited from when the worker begins to read it until all
// of it is there. While the worker waits for something else, it is not.
type awaitedBody struct {
	io.ReadCloser
	conn  *connections.Conn
	begun bool
	ended bool
}

// Read fails when the place has gone to another meanwhile.
func (b *awaitedBody) Read(into []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.conn.Awaiting()
	}
	n, err := b.ReadCloser.Read(into)
	if !errors.Is(err, io.EOF) || b.ended {
		return n, err
	}
	if b.ended = true; !b.conn.Answering() {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// leave has the client awaited for what nobody read of it, which the server reads now.
func (b *awaitedBody) leave() {
	if !b.ended {
		b.conn.Awaiting()
	}
}

// awaiting hears of every answer that was written.
func awaiting(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*connections.Conn); ok && state == http.StateIdle {
		c.Awaiting()
	}
}

// RefusedConnection is what a connection is answered for which there is no place, as bytes:
// nothing of it is read.
func RefusedConnection() []byte {
	refused := &refusedWriter{header: http.Header{}}
	busy("This worker has as many connections as it takes. Nothing was read; try again.").write(refused)
	answer := http.Response{ProtoMajor: 1, ProtoMinor: 1, StatusCode: refused.status, Header: refused.header,
		Body: io.NopCloser(&refused.body), ContentLength: int64(refused.body.Len()), Close: true}
	var text bytes.Buffer
	_ = answer.Write(&text) // a buffer takes all of it
	return text.Bytes()
}

// refusedWriter keeps an answer.
type refusedWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *refusedWriter) Header() http.Header         { return w.header }
func (w *refusedWriter) WriteHeader(status int)      { w.status = status }
func (w *refusedWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// Close stops listening, lets running answers end while ctx lasts, then cuts
// them.
func (s *Server) Close(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // cuts what Shutdown waited for; it has nothing else to say
	}
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close listener for buyers: %w", err)
	}
	return nil
}
