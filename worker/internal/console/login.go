package console

import (
	"net/http"
	"strconv"
	"time"

	"sluice/shared/auth"
)

// loginBytes bounds the body of the form.
const loginBytes = 4 << 10

// signIn takes the form: the admin token in, a session's cookie out.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	now, address := time.Now(), addressOf(r)
	if c.crossSite(w, r) {
		return
	}
	if !c.tries.allowed(address, now) {
		w.Header().Set("Retry-After", strconv.Itoa(int(wrongEvery.Seconds())))
		c.page(w, http.StatusTooManyRequests, loginPage, "Too many wrong tokens. Wait ten seconds, then try again.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, loginBytes)
	if err := r.ParseForm(); err != nil || !c.sessions.shown(r.PostForm.Get("token")) {
		c.tries.failed(address, now)
		if c.refusals.Allow() {
			c.log.Warn("console refused a token", "address", address)
		}
		c.page(w, http.StatusUnauthorized, loginPage, "That is not the admin token of this worker.")
		return
	}
	c.log.Info("somebody signed in to the console", "address", address)
	setCookie(w, r, c.sessions.begin(now))
	http.Redirect(w, r, cookiePath, http.StatusSeeOther)
}

// signOut ends the session.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if c.crossSite(w, r) {
		return
	}
	c.sessions.end(cookieOf(r), time.Now())
	setCookie(w, r, "")
	http.Redirect(w, r, cookiePath, http.StatusSeeOther)
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

func (c *Console) askToken(w http.ResponseWriter, _ *http.Request) {
	c.page(w, http.StatusOK, loginPage, "")
}

func unauthenticated(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "sign in at /console", http.StatusUnauthorized)
}
