package console

import (
	"net/http"
	"strconv"
	"time"

	"sluice/shared/auth"
)

// loginBytes bounds the body of the form.
const loginBytes = 4 << 10

// Pages that signing in leads to.
const (
	homePath    = cookiePath
	runbookPath = "/console/runbook"
)

// loginForm is what the form says.
type loginForm struct {
	Refused string // why it is shown again; "" for the first time
	To      string // the page that was asked for
}

// onwards is where a form leads to: nowhere but to a page of ours.
func onwards(to string) string {
	if to == runbookPath {
		return runbookPath
	}
	return homePath
}

func home(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, homePath, http.StatusSeeOther) }

// signIn takes the form: the admin token in, a session's cookie out.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	now, address := time.Now(), addressOf(r)
	if c.crossSite(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, loginBytes)
	err := r.ParseForm()
	to, right := onwards(r.PostForm.Get("to")), err == nil && c.sessions.shown(r.PostForm.Get("token"))
	switch {
	case !c.tries.attempt(address, right, now):
		w.Header().Set("Retry-After", strconv.Itoa(int(wrongEvery.Seconds())))
		c.page(w, http.StatusTooManyRequests, loginPage, loginForm{"Too many wrong tokens. Wait ten seconds, then try again.", to})
	case !right:
		if c.refusals.Allow() {
			c.log.Warn("console refused a token", "address", address)
		}
		c.page(w, http.StatusUnauthorized, loginPage, loginForm{"That is not the admin token of this worker.", to})
	default:
		c.log.Info("somebody signed in to the console", "address", address)
		setCookie(w, r, c.sessions.begin(now))
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// signOut ends the session.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if c.crossSite(w, r) {
		return
	}
	c.sessions.end(cookieOf(r), time.Now())
	setCookie(w, r, "")
	home(w, r)
}

// crossSite refuses forms of other sites.
func (c *Console) crossSite(w http.ResponseWriter, r *http.Request) bool {
	err := c.origin.Check(r)
	if err != nil {
		http.Error(w, "a form of another site", http.StatusForbidden)
	}
	return err != nil
}

// admitted returns until when a request is let in, by its cookie or by the token itself;
// zero for a request that is not.
func (c *Console) admitted(r *http.Request, now time.Time) time.Time {
	if token := auth.Bearer(r.Header.Values("Authorization")...); token != "" && c.sessions.shown(token) {
		return now.Add(sessionLife)
	}
	return c.sessions.until(cookieOf(r), now)
}

// guarded answers those who are signed in; others get refused's answer.
func (c *Console) guarded(next, refused http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c.admitted(r, time.Now()).IsZero() {
			refused(w, r)
			return
		}
		next(w, r)
	}
}

func (c *Console) askToken(w http.ResponseWriter, r *http.Request) {
	c.page(w, http.StatusOK, loginPage, loginForm{To: onwards(r.URL.Path)})
}

func unauthenticated(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "sign in at /console", http.StatusUnauthorized)
}
