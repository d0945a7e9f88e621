package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Name of a refusal: the last part of its problem's type.
type Name string

// Names of refusals.
const (
	SoldOut         Name = "sold-out"      // MayReturn says whether units may come back
	NotOpen         Name = "not-open"      // OpensAt says when
	Closed          Name = "closed"        // the sale is over
	LimitReached    Name = "limit-reached" // the buyer holds all the units one buyer may
	Rejected        Name = "rejected"      // instant mode; with the ticket
	Unauthenticated Name = "unauthenticated"
	NotEligible     Name = "not-eligible" // Reason says why
	InvalidRequest  Name = "invalid-request"
	NoSuchSale      Name = "no-such-sale"
	NoSuchTicket    Name = "no-such-ticket" // or somebody else's
	TooManyRequests Name = "too-many-requests"
	Busy            Name = "busy"   // nothing was reserved
	Paused          Name = "paused" // nothing was reserved
	Unavailable     Name = "unavailable"
	Retired         Name = "retired" // the sale's tickets are archived
)

// Refusal is a gateway's no, as an error: find it with errors.As.
type Refusal struct {
	Name   Name // "" when the answer was no problem document: a proxy's, perhaps
	Status int  // of HTTP
	Title  string
	Detail string // in words, for people

	Field      string        // of the request that is at fault
	Reason     string        // of not-eligible and rejected
	MayReturn  bool          // sold-out: reservations that are not paid yet may come back
	OpensAt    time.Time     // not-open
	Ticket     *Ticket       // of a reservation that stands behind the answer
	RetryAfter time.Duration // zero when the gateway did not say

	myTickets bool // the gateway names tickets/me: an earlier attempt may have won
}

// Error says what was refused, in one line.
func (r *Refusal) Error() string {
	if r.Name == "" {
		return fmt.Sprintf("answered %d", r.Status)
	}
	return fmt.Sprintf("%s: %s", r.Name, r.Detail)
}

// nothingReserved reports whether the attempt that was refused certainly has no
// reservation. Only a gateway's own word counts for a 5xx.
func (r *Refusal) nothingReserved() bool {
	return r.Status < http.StatusInternalServerError || r.Name == Busy || r.Name == Paused
}

// passing reports whether the same request may be answered otherwise later. 408 is
// what a connection gets that was idle for too long, whatever crosses it.
func (r *Refusal) passing() bool {
	return r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests || r.Status == http.StatusRequestTimeout
}

// worthAgain reports whether it makes sense to ask again soon after a failure.
func worthAgain(err error) bool {
	var r *Refusal
	return !errors.As(err, &r) || r.passing() && r.RetryAfter <= longest
}

// problem is the JSON form of a refusal.
type problem struct {
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	Detail    string    `json:"detail"`
	Field     string    `json:"field"`
	Reason    string    `json:"reason"`
	MayReturn bool      `json:"may_return"`
	OpensAt   time.Time `json:"opens_at"`
	MyTickets string    `json:"my_tickets"`
	Ticket    *Ticket   `json:"ticket"`
}

func refusalOf(a answer) *Refusal {
	r := &Refusal{Status: a.status, RetryAfter: retryAfter(a.header)}
	var p problem
	name, isProblem := "", false
	if json.Unmarshal(a.body, &p) == nil {
		name, isProblem = strings.CutPrefix(p.Type, "/problems/")
	}
	if !isProblem {
		return r
	}
	r.Name, r.Title, r.Detail = Name(name), p.Title, p.Detail
	r.Field, r.Reason, r.MayReturn, r.OpensAt = p.Field, p.Reason, p.MayReturn, p.OpensAt
	r.Ticket, r.myTickets = p.Ticket, p.MyTickets != ""
	return r
}
