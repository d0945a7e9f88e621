package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// attackPatience is more than any request may take that does not arrive: five seconds.
const attackPatience = 15 * time.Second

// target is what is attacked: a sale that an honest buyer has a ticket of.
type target struct {
	*running
	stores *stores
	sale   sale.Entry
	ticket string // ada's
	token  string // ada's
}

func newTarget(t *testing.T, extra ...string) *target {
	t.Helper()
	s := sharedStores(t)
	e := s.sell(t, 50, func(e *sale.Sale) { e.PerUserLimit = 20 })
	g := s.startReady(t, extra...)
	g.untilWarm(e.ID)
	return &target{running: g, stores: s, sale: e, ticket: g.attempt(e.ID, "ada").text("ticket"), token: token(t, "ada", sale.Claims{})}
}

func (a *target) orders() string { return "/v1/sales/" + a.sale.ID + "/orders" }

// answers sends bytes on a connection of their own and returns every answer until the
// gateway closes it.
func (a *target) answers(t *testing.T, method, path, bytes string) (all []answer) {
	t.Helper()
	g := &running{t: t, url: a.url, ops: a.ops}
	conn := g.dial()
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(attackPatience)))
	if _, err := io.WriteString(conn, bytes); err != nil {
		t.Logf("not all was read: %v", err)
	}
	in := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && strings.Contains(err.Error(), "reset by peer"):
			return all
		case err != nil:
			t.Fatalf("no answer: %v", err)
		}
		if res.StatusCode == http.StatusContinue {
			continue
		}
		text, err := io.ReadAll(res.Body)
		must(t, err)
		got := g.checked(method, path, res, text)
		got.last = res.Close
		all = append(all, got)
		_ = conn.(*net.TCPConn).CloseWrite() // whatever else the gateway reads, it has by now
	}
}

// attack is what somebody sends, and what they get for it.
type attack struct {
	name    string
	method  string
	path    string // "" for what is no request
	bytes   string
	status  int
	problem string // "" for what is none
}

// repel sends attacks and wants one answer to each, the documented one, and that an
// honest buyer is served on a connection of their own right after it.
func (a *target) repel(t *testing.T, attacks []attack) {
	t.Helper()
	for _, one := range attacks {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			all := a.answers(t, one.method, one.path, one.bytes)
			if len(all) != 1 {
				t.Fatalf("%d answers: %v", len(all), all)
			}
			got := all[0]
			if got.status != one.status || one.problem != "" && got.text("type") != "/problems/"+one.problem {
				t.Errorf("got %d %s, want %d %s", got.status, got.raw, one.status, one.problem)
			}
			if one.path == "" && !got.last {
				t.Error("the connection stays open, though nobody knows where the request ends")
			}
			a.servesTheHonest(t)
		})
	}
}

// servesTheHonest reads ada's ticket over a new connection.
func (a *target) servesTheHonest(t *testing.T) {
	t.Helper()
	path := "/v1/tickets/" + a.ticket
	all := a.answers(t, http.MethodGet, path, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+a.token+"\r\n\r\n")
	if len(all) != 1 || all[0].status != http.StatusOK || all[0].text("ticket") != a.ticket {
		t.Errorf("an honest buyer gets %v", all)
	}
}

// expectNothingOf wants a user to have no ticket.
func (a *target) expectNothingOf(user string) {
	a.t.Helper()
	if got := a.do(http.MethodGet, "/v1/sales/"+a.sale.ID+"/tickets/me", user); got.raw != `{"tickets":[]}` {
		a.t.Errorf("%s has %s", user, got.raw)
	}
}
