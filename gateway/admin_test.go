package main

import (
	"net/http"
	"testing"
)

func TestProfiles_AreForTheAdminToken(t *testing.T) {
	t.Parallel()
	const admin = "an admin token of thirty-two bytes"
	s := sharedStores(t)
	for name, c := range map[string]struct {
		flags []string
		shown string
		want  int
	}{
		"no token is set":   {nil, "", http.StatusUnauthorized},
		"empty is no token": {nil, "Bearer ", http.StatusUnauthorized},
		"none is shown":     {[]string{"-admin-token", admin}, "", http.StatusUnauthorized},
		"another is shown":  {[]string{"-admin-token", admin}, "Bearer " + admin + "x", http.StatusUnauthorized},
		"it is shown":       {[]string{"-admin-token", admin}, "Bearer " + admin, http.StatusOK},
	} {
		g := s.start(t, c.flags...)
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/symbol"} {
			request, err := http.NewRequest(http.MethodGet, g.ops+path, nil)
			must(t, err)
			if c.shown != "" {
				request.Header.Set("Authorization", c.shown)
			}
			response, err := http.DefaultClient.Do(request)
			must(t, err)
			must(t, response.Body.Close())
			if response.StatusCode != c.want {
				t.Errorf("%s: %s answers %d, want %d", name, path, response.StatusCode, c.want)
			}
		}
	}
}
