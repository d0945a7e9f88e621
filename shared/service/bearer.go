package service

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"sluice/shared/auth"
)

// RequireBearer lets requests with `Authorization: Bearer TOKEN` through to next
// and answers 401 to others. An empty token lets nobody through.
func RequireBearer(token string, next http.Handler) http.Handler {
	shown := BearerOf(token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !shown(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "unauthenticated", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// BearerOf tells whether a request shows token, in a time that does not depend on what
// it shows. An empty token is shown by nobody.
func BearerOf(token string) func(*http.Request) bool {
	want := sha256.Sum256([]byte(token))
	return func(r *http.Request) bool {
		got := sha256.Sum256([]byte(auth.Bearer(r.Header.Values("Authorization")...))) // equal lengths, so that the comparison tells nothing
		return token != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
	}
}
