package hostile

import (
	"net/http"
	"strings"
)

// Request is one that must be refused, as it goes over the wire.
type Request struct {
	Name    string
	Bytes   string // its head, and the body if it is short
	Repeat  string // sent behind that Times times, or until nobody listens any more
	Times   int
	End     string // sent behind that
	From    string // address that it comes from, of this machine; any if empty
	Status  int    // that it must be answered
	Problem string // the last part of the problem's type
}

// method that the answer's end depends on.
func (r Request) method() string {
	method, _, _ := strings.Cut(r.Bytes, " ")
	return method
}

// Target is what is attacked, and by whom.
type Target struct {
	Sale    string
	User    string // who attacks
	Token   string // of User, a good one
	Trusted string // address of a proxy that names users in UserHeader and is believed; anybody else is not
	Keys    Keys
}

// Keys are what good tokens and events are signed with. Attackers have none of them: they
// are what forgeries come closest with.
type Keys struct {
	JWT, Issuer, Audience string
	Webhook               string
}

// UserHeader is where a trusted proxy names the user.
const UserHeader = "X-User"

func (t Target) orders() string { return "/v1/sales/" + t.Sale + "/orders" }

// head of an attempt, without the empty line that ends it.
func (t Target) head(fields string) string {
	return "POST " + t.orders() + " HTTP/1.1\r\nHost: x\r\n" + fields
}

// mine is the head of an attempt with a good token.
func (t Target) mine() string { return t.head("Authorization: Bearer " + t.Token + "\r\n") }

// invalid are requests that are answered 400.
func invalid(texts map[string]string) []Request {
	return all(texts, http.StatusBadRequest, "invalid-request")
}

// all are requests that are answered alike.
func all(texts map[string]string, status int, problem string) []Request {
	requests := make([]Request, 0, len(texts))
	for name, text := range texts {
		requests = append(requests, Request{Name: name, Bytes: text, Status: status, Problem: problem})
	}
	return requests
}
