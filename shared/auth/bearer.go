package auth

import "strings"

// Bearer takes the token out of a request's Authorization headers; "" when there
// is none, or more than one, so that nobody downstream can believe another one.
func Bearer(headers ...string) string {
	if len(headers) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
