package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const operatorToken = "a token of operators, of 32 bytes and more"

// tell posts an operator's word on readiness.
func (g *running) tell(token, method, body string) (int, string) {
	g.t.Helper()
	req, err := http.NewRequest(method, g.ops+"/admin/v1/ready", strings.NewReader(body))
	must(g.t, err)
	req.Header.Set("Sluice-Operator", "ada")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	must(g.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(g.t, err)
	return res.StatusCode, string(text)
}

func TestOverride_HoldsAGatewayUnreadyUntilToldOtherwise(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-admin-token", operatorToken)
	g.untilWarm(e.ID)
	if code, body := g.tell(operatorToken, http.MethodPost, `{"ready": false, "reason": "its disk is being replaced"}`); code != http.StatusOK || !strings.Contains(body, `"status":"held"`) {
		t.Errorf("held: %d %s", code, body)
	}
	for path, want := range map[string]string{"/readyz": `{"status":"held"}`, "/readyz?verbose": `"reason":"its disk is being replaced"`, "/readyz/sales/" + e.ID: `"status":"held"`} {
		if code, body := g.opsGet(path); code != http.StatusServiceUnavailable || !strings.Contains(body, want) {
			t.Errorf("%s while held: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/livez", "/startupz"} {
		if code, body := g.opsGet(path); code != http.StatusOK {
			t.Errorf("%s while held: %d %s", path, code, body)
		}
	}
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted) // whoever comes all the same is served
	if code, body := g.tell(operatorToken, http.MethodPost, `{"ready": true}`); code != http.StatusOK || !strings.Contains(body, `"status":"ready"`) {
		t.Errorf("let go: %d %s", code, body)
	}
	if code, body := g.opsGet("/readyz?verbose"); code != http.StatusOK || strings.Contains(body, "disk") {
		t.Errorf("let go: %d %s", code, body)
	}
}

func TestOverride_CannotMakeAColdGatewayReady(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	s.announce(t, newSale(5))
	g := s.start(t, "-admin-token", operatorToken)
	if code, body := g.tell(operatorToken, http.MethodPost, `{"ready": true, "reason": "now"}`); code != http.StatusOK || !strings.Contains(body, `"status":"warming"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := g.opsGet("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("a gateway without its sale is ready: %d", code)
	}
}

func TestOverride_Refusals(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	g, closed := s.startReady(t, "-admin-token", operatorToken), s.startReady(t)
	for name, tc := range map[string]struct {
		gateway             *running
		token, method, body string
		status              int
		problem             string
	}{
		"no admin token at the gateway": {closed, operatorToken, http.MethodPost, `{"ready":true}`, http.StatusServiceUnavailable, "no-admin-token"},
		"no token":                      {g, "", http.MethodPost, `{"ready":true}`, http.StatusUnauthorized, "unauthenticated"},
		"another token":                 {g, operatorToken + "x", http.MethodPost, `{"ready":true}`, http.StatusUnauthorized, "unauthenticated"},
		"a read":                        {g, operatorToken, http.MethodGet, "", http.StatusMethodNotAllowed, "method-not-allowed"},
		"no reason":                     {g, operatorToken, http.MethodPost, `{"ready":false}`, http.StatusBadRequest, "invalid-request"},
		"a line break in it":            {g, operatorToken, http.MethodPost, `{"ready":false,"reason":"a\nb"}`, http.StatusBadRequest, "invalid-request"},
		"a long reason":                 {g, operatorToken, http.MethodPost, `{"ready":false,"reason":"` + strings.Repeat("x", 201) + `"}`, http.StatusBadRequest, "invalid-request"},
		"nothing":                       {g, operatorToken, http.MethodPost, `{}`, http.StatusBadRequest, "invalid-request"},
		"another field":                 {g, operatorToken, http.MethodPost, `{"ready":true,"warm":true}`, http.StatusBadRequest, "invalid-request"},
		"more than a body may have":     {g, operatorToken, http.MethodPost, `{"ready":true` + strings.Repeat(" ", 9000) + `}`, http.StatusBadRequest, "invalid-request"},
	} {
		code, body := tc.gateway.tell(tc.token, tc.method, tc.body)
		if code != tc.status || !strings.Contains(body, `"/problems/`+tc.problem+`"`) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if code, _ := g.opsGet("/readyz"); code != http.StatusOK {
		t.Errorf("unready after refusals alone: %d", code)
	}
}
