package history

import (
	"net/http"
	"time"
)

// Kind is what a client did.
type Kind string

// Kinds of events.
const (
	Attempt Kind = "attempt" // for one unit of a sale
	Read    Kind = "read"    // of a ticket
	Pay     Kind = "pay"     // a payment provider's event, delivered
	Cancel  Kind = "cancel"  // of an order, by its buyer
)

// Event is one thing that a client did, with what it was answered.
type Event struct {
	Kind  Kind          `json:"kind"`
	Sale  string        `json:"sale,omitempty"`
	User  string        `json:"user,omitempty"`
	Key   string        `json:"key,omitempty"` // idempotency key of an attempt
	Began time.Duration `json:"began_ns"`      // since the history's begin
	Ended time.Duration `json:"ended_ns"`      // when the answer was there, or given up on

	Status int    `json:"status"`           // of HTTP; 0 when no answer came
	RID    string `json:"rid,omitempty"`    // of the ticket that the answer carries
	Ticket string `json:"ticket,omitempty"` // its status

	Payment string `json:"payment,omitempty"` // id of a payment event
	Type    string `json:"type,omitempty"`    // of it, in the provider's words
	Order   string `json:"order,omitempty"`   // that it or a cancellation names
}

// unknown reports whether the client cannot know what its attempt did.
func (e Event) unknown() bool { return e.Status == 0 || e.Status >= 500 }

// accepted reports whether the answer says that the attempt will be ordered, or is.
func (e Event) accepted() bool {
	return e.told() && (e.Status == http.StatusAccepted || e.Status == http.StatusCreated)
}

// told reports whether the answer says that the reservation is there to stay.
func (e Event) told() bool {
	return e.Kind == Attempt && e.RID != "" && e.Status >= 200 && e.Status < 300
}
