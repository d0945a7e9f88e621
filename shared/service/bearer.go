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
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(auth.Bearer(r.Header.Values("Authorization")...))) // equal lengths, so that the comparison tells nothing
		if token == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "unauthenticated", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
