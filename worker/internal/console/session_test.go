package console

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestSessions_EndByThemselvesAndWithTheToken(t *testing.T) {
	t.Parallel()
	s, now := newSessions("one"), time.Now()
	cookie := s.begin(now)
	if s.until(cookie, now.Add(sessionLife-2*time.Second)).IsZero() || !s.until(cookie, now.Add(sessionLife)).IsZero() {
		t.Error("a session does not last as long as it should")
	}
	if !newSessions("another").until(cookie, now).IsZero() {
		t.Error("a session outlives its token")
	}
	if s.begin(now) == cookie {
		t.Error("two sessions are the same")
	}
}

func TestSessions_RememberNotTooManyThatWereEnded(t *testing.T) {
	t.Parallel()
	s, now := newSessions("one"), time.Now()
	for range 2 * maxEnded {
		s.end(s.begin(now), now)
	}
	if len(s.ended) > maxEnded {
		t.Errorf("%d are remembered", len(s.ended))
	}
}

func TestTries_RememberNotTooManyAddresses(t *testing.T) {
	t.Parallel()
	tr := newTries()
	now := time.Now()
	for i := range 3 * maxTriers {
		tr.attempt(fmt.Sprint(i), false, now)
	}
	if len(tr.by) > maxTriers {
		t.Errorf("%d addresses are remembered", len(tr.by))
	}
	for range wrongTokens {
		tr.attempt("x", false, now)
	}
	if tr.attempt("x", true, now) || !tr.attempt("x", true, now.Add(wrongEvery)) || !tr.attempt("y", true, now) {
		t.Error("who tried too often is not the one who must wait, or waits too long")
	}
}

func TestTries_AreByClientNotByItsManyAddresses(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"10.1.2.3:4567": "10.1.2.3", "[::ffff:10.1.2.3]:1": "10.1.2.3", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "@",
	} {
		if got := addressOf(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("%s is %s, want %s", remote, got, want)
		}
	}
}
