package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
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
	http     *http.Server
}

// Listen takes addr at once, so that Addr is known and a taken port is an error
// at start; nothing is answered before Serve.
func Listen(addr string, handler http.Handler, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for buyers on %s: %w", addr, err)
	}
	return &Server{listener: listener, http: &http.Server{
		Handler:     handler,
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
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve buyers on %s: %w", s.Addr(), err)
	}
	return nil
}

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
