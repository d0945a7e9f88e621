package console

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"sluice/shared/service"
)

// policy holds the page to what this listener serves: no inline script or style, no other
// host, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Console answers under /console. It may be served before it runs.
type Console struct {
	off      bool
	sessions *sessions
	tries    *tries
	origin   *http.CrossOriginProtection
	hub      *hub
	runbook  []byte // as HTML
	mux      *http.ServeMux
	log      *slog.Logger
	refusals service.Quiet
}

// New makes a console for those who know token; without one it says that it is off. The
// runbook is Markdown, with a heading for each alert.
func New(token string, runbook []byte, log *slog.Logger) (*Console, error) {
	rendered, err := render(runbook)
	if err != nil {
		return nil, err
	}
	c := &Console{
		off: token == "", sessions: newSessions(token), tries: newTries(), origin: http.NewCrossOriginProtection(), hub: newHub(),
		runbook: rendered, mux: http.NewServeMux(), log: log,
	}
	c.mux.HandleFunc("GET /console", c.guarded(c.shell, c.askToken))
	c.mux.HandleFunc("GET /console/{$}", home)
	c.mux.HandleFunc("GET /console/login", home) // of a tab that is opened again after a wrong token
	c.mux.HandleFunc("POST /console/login", c.signIn)
	c.mux.HandleFunc("POST /console/logout", c.signOut)
	c.mux.HandleFunc("GET /console/session", c.session)
	c.mux.HandleFunc("GET /console/events", c.guarded(c.events, unauthenticated))
	c.mux.HandleFunc("GET /console/history", c.guarded(c.history, unauthenticated))
	c.mux.HandleFunc("GET /console/runbook", c.guarded(c.showRunbook, c.askToken))
	c.mux.Handle("GET /console/assets/", http.HandlerFunc(asset))
	return c, nil
}

// Run reads the sources until ctx ends; the pages' streams end with it.
func (c *Console) Run(ctx context.Context, s Sources) {
	defer c.hub.close()
	if !c.off {
		newWatch(s, c.hub, c.log).run(ctx)
	}
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin") // not none: forms would come from the origin "null", as if from another site
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.off && !isAsset(r.URL.Path) {
		c.page(w, http.StatusServiceUnavailable, offPage, "")
		return
	}
	c.mux.ServeHTTP(w, r)
}

// session tells a page whether it still has one, and whether that is of no use now: it
// cannot see why its stream was refused.
func (c *Console) session(w http.ResponseWriter, r *http.Request) {
	var answer struct {
		SignedIn bool `json:"signed_in"`
		Full     bool `json:"full,omitempty"`
	}
	answer.SignedIn = !c.admitted(r, time.Now()).IsZero()
	answer.Full = answer.SignedIn && c.hub.full()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(answer)) // an error means that the page has gone
}
