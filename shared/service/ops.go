package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Timeouts of the ops listener. Writing leaves room for a 60 s CPU profile.
const (
	opsReadTimeout  = 5 * time.Second
	opsWriteTimeout = 75 * time.Second
	opsIdleTimeout  = 60 * time.Second
	opsCloseTimeout = time.Second
	opsHeaderBytes  = 8 << 10
)

// Ops is the listener for probes, metrics and profiles. It is net/http on a port
// of its own, so that buyers' traffic cannot starve it.
type Ops struct {
	listener net.Listener
	mux      *http.ServeMux
	server   *http.Server
	profiles http.Handler
}

// NewOps listens on addr at once, so that Addr is known and a taken port is an
// error at start; nothing is answered before Serve.
func NewOps(addr string, health *Health, registry *prometheus.Registry) (*Ops, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for ops on %s: %w", addr, err)
	}
	o := &Ops{listener: listener, mux: http.NewServeMux(), profiles: profiles()}
	o.server = &http.Server{
		Handler:     o.mux,
		ReadTimeout: opsReadTimeout, WriteTimeout: opsWriteTimeout, IdleTimeout: opsIdleTimeout,
		MaxHeaderBytes: opsHeaderBytes,
	}
	addProbes(o.mux, health)
	o.mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	o.mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, r *http.Request) { o.profiles.ServeHTTP(w, r) })
	return o, nil
}

// profiles leaves pprof's cmdline out: a command line may hold secrets.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.Handle("/debug/pprof/cmdline", http.NotFoundHandler())
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Addr is the address listened on, with the port that was picked for :0.
func (o *Ops) Addr() string { return o.listener.Addr().String() }

// Handle serves pattern, in the syntax of http.ServeMux, too. Call it before
// Serve.
func (o *Ops) Handle(pattern string, handler http.Handler) { o.mux.Handle(pattern, handler) }

// GuardProfiles asks for a bearer token before /debug/pprof/. Call it before
// Serve.
func (o *Ops) GuardProfiles(token string) { o.profiles = RequireBearer(token, o.profiles) }

// Serve answers until Close, then returns nil.
func (o *Ops) Serve() error {
	if err := o.server.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve ops on %s: %w", o.Addr(), err)
	}
	return nil
}

// Close stops listening, gives running answers a second, then cuts them.
func (o *Ops) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), opsCloseTimeout)
	defer cancel()
	if err := o.server.Shutdown(ctx); err != nil {
		_ = o.server.Close() // cuts what Shutdown waited for; it has nothing else to say
	}
	if err := o.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close ops listener: %w", err)
	}
	return nil
}

// Start serves in the background; if that fails, fail is told why. The returned
// stop closes the listener and waits; what cannot be closed any more ends with the
// process.
func (o *Ops) Start(fail func(error)) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := o.Serve(); err != nil {
			fail(err)
		}
	}()
	return func() {
		_ = o.Close()
		<-done
	}
}
