package hostile

import (
	"fmt"
	"net/http"
	"strings"

	"sluice/shared/auth"
)

// Tickets are reads of tickets with a good token of somebody whose tickets they are not:
// the victim's, and forged ones. All of them are the same 404.
func (t Target) Tickets(v, other Victim) ([]Request, error) {
	forged, err := t.forgedTickets(v.Ticket, other.Ticket)
	if err != nil {
		return nil, err
	}
	var requests []Request
	for name, ticket := range forged {
		for _, rest := range []string{"", "?wait=25", "/events"} {
			requests = append(requests, t.noSuchTicket(fmt.Sprintf("%s: ticket%s", name, rest), "/v1/tickets/"+ticket+rest, ""))
		}
	}
	for _, header := range []string{UserHeader, "X-Forwarded-User", "Remote-User"} { // a good token counts, whatever stands beside it
		requests = append(requests, t.noSuchTicket(header+" beside a token", "/v1/tickets/"+v.Ticket, header+": "+v.User+"\r\n"))
	}
	return requests, nil
}

func (t Target) noSuchTicket(name, path, fields string) Request {
	return Request{Name: name, Bytes: "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + t.Token + "\r\n" + fields + "\r\n",
		Status: http.StatusNotFound, Problem: "no-such-ticket"}
}

// forgedTickets are made of two that others have.
func (t Target) forgedTickets(one, other string) (map[string]string, error) {
	signer, err := auth.NewTicketSigner([]byte("another secret of at least 32 bytes!"))
	if err != nil {
		return nil, fmt.Errorf("cannot forge tickets: %w", err)
	}
	const rid = "0192e4a0-7c3b-7def-8123-456789abcdef"
	claim, seal, _ := strings.Cut(one, ".")
	otherClaim, otherSeal, _ := strings.Cut(other, ".")
	forged := map[string]string{
		"another's": one, "another one's": other, "another key": signer.Sign(t.Sale, t.User, 1, rid), "claim of one, seal of another": claim + "." + otherSeal, "the other way round": otherClaim + "." + seal,
		"no seal": claim + ".", "no claim": "." + seal, "twice": one + one, "padded": one + "=", "a dot behind": one + ".", "in capitals": strings.ToUpper(one), "a reservation": rid,
		"long": strings.Repeat("A", 4000) + "." + seal, "star": "*", "me": "me", "nothing": "null",
	}
	for i := 1; i < len(one); i += 5 {
		forged[fmt.Sprint("cut at ", i)] = one[:i]
		if one[i] != '.' {
			forged[fmt.Sprint("flipped at ", i)] = one[:i] + flipped(one[i]) + one[i+1:]
		}
	}
	return forged, nil
}

// Orders are reads and cancellations of a victim's order at a worker, and of one that there
// is not: the same 404.
func (t Target) Orders(v Victim) []Request {
	requests := make(map[string]string)
	for name, id := range map[string]string{"another's": v.Order, "absent": "0192e4a0-7c3b-7def-8123-456789abcdef", "odd": "*", "long": strings.Repeat("a", 4000), "their ticket": v.Ticket} {
		tail := " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + t.Token + "\r\nContent-Length: 0\r\n\r\n"
		requests[name+": order"] = "GET /v1/orders/" + id + tail
		requests[name+": cancellation"] = "POST /v1/orders/" + id + "/cancel" + tail
	}
	return all(requests, http.StatusNotFound, "no-such-order")
}
