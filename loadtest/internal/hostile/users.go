package hostile

import (
	"fmt"
	"net/http"
	"strings"
)

// Users are attempts of users who cannot be: named by a good token, and by a proxy that is
// believed.
func (t Target) Users() []Request {
	tokens := make(map[string]string)
	for name, sub := range oddSubjects(t.User) {
		tokens["user in a token: "+name] = t.head("Authorization: Bearer "+t.Keys.sign(t.Keys.claims(sub))+"\r\n") + "\r\n"
	}
	requests := all(tokens, http.StatusUnauthorized, "unauthenticated")
	for name, fields := range map[string]string{
		"none": UserHeader + ":\r\n", "of 129": UserHeader + ": " + t.User + strings.Repeat("u", 129) + "\r\n", "no UTF-8": UserHeader + ": " + t.User + "\xff\r\n",
		"what broken text is read as": UserHeader + ": " + t.User + "\ufffd\r\n", "a control": UserHeader + ": " + t.User + "\u0085\r\n", "NUL": UserHeader + ": " + t.User + "\x00\r\n",
		"two": UserHeader + ": " + t.User + "\r\n" + UserHeader + ": " + t.User + "-b\r\n",
	} {
		requests = append(requests, Request{Name: "user of a proxy: " + name, Bytes: t.head(fields) + "\r\n", From: t.Trusted, Status: http.StatusBadRequest, Problem: "invalid-request"})
	}
	return requests
}

// oddSubjects are JSON values of sub that name no user.
func oddSubjects(user string) map[string]string {
	quoted := func(text string) string { return `"` + user + text + `"` }
	return map[string]string{
		"none": `""`, "NUL": quoted(`\u0000`), "line feed": quoted(`\n`), "escape": quoted(`\u001b`), "of 129": quoted(strings.Repeat("u", 129)), "of 2,000": quoted(strings.Repeat("u", 2000)),
		"no UTF-8": quoted("\xff"), "half a surrogate": quoted(`\ud800`), "what broken text is read as": quoted("\ufffd"), "a control of two bytes": quoted("\u0085"),
		"nothing": "null", "number": "7", "truth": "true", "list": fmt.Sprintf("[%s]", quoted("")), "object": fmt.Sprintf(`{"sub":%s}`, quoted("")),
	}
}
