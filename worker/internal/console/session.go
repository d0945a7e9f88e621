package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"sync"
	"time"
)

const (
	cookieName  = "sluice-console"
	cookiePath  = "/console"
	sessionLife = 12 * time.Hour // a shift
	sessionID   = 16             // random bytes
	maxEnded    = 4096           // sessions that were ended before their time and are remembered
)

// sessions are kept by the browsers that have them: a random id and the time of its end,
// signed with a key that only the admin token gives. So they outlive the process, hold at
// every worker with that token, and are over when it is changed. Those who sign out are
// remembered here until their session's end.
type sessions struct {
	token [sha256.Size]byte // its hash: equal lengths, so that a comparison tells nothing
	key   []byte

	mu    sync.Mutex
	ended map[string]time.Time // by cookie: when it would have ended by itself
}

func newSessions(token string) *sessions {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("sluice console session v1"))
	return &sessions{token: sha256.Sum256([]byte(token)), key: mac.Sum(nil), ended: map[string]time.Time{}}
}

// shown tells whether this is the admin token.
func (s *sessions) shown(token string) bool {
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(s.token[:], got[:]) == 1
}

// begin makes a session's cookie value.
func (s *sessions) begin(now time.Time) string {
	body := make([]byte, sessionID, sessionID+8+sha256.Size)
	_, _ = rand.Read(body) // never fails: it ends the program instead
	body = binary.BigEndian.AppendUint64(body, uint64(now.Add(sessionLife).Unix()))
	return base64.RawURLEncoding.EncodeToString(append(body, s.sign(body)...))
}

func (s *sessions) sign(body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body)
	return mac.Sum(nil)
}

// until returns when a session ends; zero for none, or one that is over.
func (s *sessions) until(cookie string, now time.Time) time.Time {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	const signed = sessionID + 8
	if err != nil || len(raw) != signed+sha256.Size || !hmac.Equal(raw[signed:], s.sign(raw[:signed])) {
		return time.Time{}
	}
	end := time.Unix(int64(binary.BigEndian.Uint64(raw[sessionID:signed])), 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, over := s.ended[cookie]; over || !now.Before(end) {
		return time.Time{}
	}
	return end
}

// end makes a session be over before its time.
func (s *sessions) end(cookie string, now time.Time) {
	until := s.until(cookie, now)
	if until.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, t := range s.ended {
		if !now.Before(t) || len(s.ended) >= maxEnded {
			delete(s.ended, c)
		}
	}
	s.ended[cookie] = until
}

// cookieOf is a request's session, "" for none.
func cookieOf(r *http.Request) string {
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value
	}
	return ""
}

// setCookie gives the browser a session, or takes it back when value is "".
func setCookie(w http.ResponseWriter, r *http.Request, value string) {
	age := int(sessionLife.Seconds())
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: cookiePath, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
