package attack

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// OutcomeFault is the outcome of an attempt without an answer: the connection
// broke or the time was up.
const OutcomeFault = "fault"

// Answer to one attempt.
type Answer struct {
	Outcome string        // a sale.Outcome's name, OutcomeFault, or status_NNN when the answer is none of the known
	Latency time.Duration // since the attempt was due, so that waiting for a connection counts
	Sent    time.Time
	Late    Lateness      // of this one attempt, sent by Run
	Ticket  client.Ticket // zero unless the answer carries a ticket
	Err     error         // of a fault
}

// AnswerOf reads an answer, for whoever sends by other means. Its times are the caller's.
func AnswerOf(status int, body []byte) Answer {
	ticket, err := ticketIn(status, body)
	if err != nil {
		return Answer{Outcome: OutcomeFault, Err: err}
	}
	return Answer{Outcome: outcomeOf(status, body), Ticket: ticket}
}

var problemMark = []byte(`/problems/`)

// renamed are the problems whose name is not their outcome's.
var renamed = map[string]sale.Outcome{"invalid-request": sale.Invalid, "too-many-requests": sale.TooMany}

// outcomeOf names the outcome that a status and a body stand for.
func outcomeOf(status int, body []byte) string {
	switch status {
	case http.StatusOK:
		return sale.Replay.String()
	case http.StatusCreated:
		return sale.Confirmed.String()
	case http.StatusAccepted:
		return sale.Accepted.String()
	}
	_, rest, found := bytes.Cut(body, problemMark)
	name, _, closed := bytes.Cut(rest, []byte{'"'})
	if !found || !closed {
		return fmt.Sprintf("status_%d", status)
	}
	if outcome, ok := renamed[string(name)]; ok {
		return outcome.String()
	}
	return strings.ReplaceAll(string(name), "-", "_")
}

// ticketIn reads the ticket of an answer that carries one: it is the body itself,
// or a member of the problem that says that its hand-over is unknown.
func ticketIn(status int, body []byte) (client.Ticket, error) {
	var answer struct {
		Ticket client.Ticket `json:"ticket"`
	}
	var err error
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		err = json.Unmarshal(body, &answer.Ticket)
	case http.StatusServiceUnavailable:
		if bytes.Contains(body, []byte(`"ticket"`)) {
			err = json.Unmarshal(body, &answer)
		}
	}
	if err != nil {
		return client.Ticket{}, fmt.Errorf("cannot read ticket from answer %d: %w", status, err)
	}
	return answer.Ticket, nil
}

// RID reads the reservation's id out of a ticket, which begins with its 16 bytes.
// It proves nothing: only the gateway can check the signature.
func RID(ticket string) (string, error) {
	claim, _, _ := strings.Cut(ticket, ".")
	raw, err := base64.RawURLEncoding.DecodeString(claim)
	if err != nil || len(raw) < 16 {
		return "", fmt.Errorf("cannot read reservation from ticket %q", ticket)
	}
	return uuid.UUID(raw[:16]).String(), nil
}
