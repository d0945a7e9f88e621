package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"unicode"

	"sluice/shared/service"
	"sluice/shared/strictjson"
)

const (
	overrideBody   = 8 << 10 // bytes
	overrideReason = 200     // bytes of why
)

// override is POST /admin/v1/ready on the ops listener: an operator's word on whether
// buyers are to be routed to this gateway. It holds for this process, until told
// otherwise; a gateway that is not warm cannot be made ready by it.
type override struct {
	health   *service.Health
	log      *slog.Logger
	admitted func(*http.Request) bool
	disabled bool
}

func newOverride(health *service.Health, adminToken string, log *slog.Logger) override {
	return override{health: health, log: log, admitted: service.BearerOf(adminToken), disabled: adminToken == ""}
}

func (o override) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case o.disabled:
		opsProblem(w, http.StatusServiceUnavailable, "no-admin-token", "The admin API is off",
			"This gateway has no admin token: start it with -admin-token (SLUICE_ADMIN_TOKEN).", "")
		return
	case !o.admitted(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		opsProblem(w, http.StatusUnauthorized, "unauthenticated", "Not authenticated", "Send the admin token: Authorization: Bearer TOKEN.", "")
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		opsProblem(w, http.StatusMethodNotAllowed, "method-not-allowed", "Method not allowed", "This path takes POST.", "")
		return
	}
	ready, reason, field, err := readOverride(w, r)
	if err != nil {
		opsProblem(w, http.StatusBadRequest, "invalid-request", "Invalid request", err.Error(), field)
		return
	}
	o.apply(r, ready, reason)
	writeOps(w, http.StatusOK, "application/json", map[string]any{"ready": ready, "reason": reason, "status": o.health.Status()})
}

func (o override) apply(r *http.Request, ready bool, reason string) {
	by := []any{"reason", reason, "operator", r.Header.Get("Sluice-Operator"), "address", r.RemoteAddr}
	if ready {
		o.health.Unhold()
		o.log.Info("operator lets the gateway be ready", by...)
		return
	}
	o.health.Hold(reason)
	o.log.Warn("operator holds the gateway unready", by...)
}

var errReason = errors.New("reason must say why, in 1 to 200 bytes of printable text")

// readOverride reads {"ready": BOOL, "reason": TEXT}; ready needs no reason.
func readOverride(w http.ResponseWriter, r *http.Request) (ready bool, reason, field string, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, overrideBody))
	if err != nil {
		return false, "", "body", errors.New("the body could not be read to its end, or is too long")
	}
	var asked struct {
		Ready  bool   `json:"ready"`
		Reason string `json:"reason"`
	}
	if field, err = strictjson.Decode(body, &asked, "ready"); err != nil {
		return false, "", field, err
	}
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !asked.Ready && asked.Reason == "" || len(asked.Reason) > overrideReason || strings.ContainsFunc(asked.Reason, unprintable) {
		return false, "", "reason", errReason
	}
	return asked.Ready, asked.Reason, "", nil
}

func opsProblem(w http.ResponseWriter, status int, name, title, detail, field string) {
	body := map[string]any{"type": "/problems/" + name, "title": title, "status": status, "detail": detail}
	if field != "" {
		body["field"] = field
	}
	writeOps(w, status, "application/problem+json", body)
}

func writeOps(w http.ResponseWriter, status int, contentType string, body map[string]any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only when the operator has gone
}
