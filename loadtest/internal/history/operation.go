package history

import (
	"fmt"
	"time"
)

// Operation is one call about one sale, by one of several clients at once, and what it was
// answered. It took effect at some moment from Began to Ended; one that was not Answered
// at any moment from Began on, or never.
type Operation struct {
	Client       int
	Began, Ended time.Duration // since the history's begin
	Answered     bool

	Do     Doing
	User   string // who attempts
	Key    string // idempotency key of an attempt
	RID    string // of the answer's ticket, "" for none; or that is given back
	Delta  int64  // units that are added
	Answer Answer
}

// Doing is what a call asks for.
type Doing string

// Calls.
const (
	Buy      Doing = "buy"
	GiveBack Doing = "give back"
	Adjust   Doing = "adjust"
)

// Answer is what a call was answered.
type Answer string

// Answers.
const (
	Accepted Answer = "accepted" // an attempt, under a rid of its own
	Replayed Answer = "replayed" // an attempt, by a reservation of before
	SoldOut  Answer = "sold out"
	Limit    Answer = "limit"
	Done     Answer = "done"   // a release or an adjustment
	Unsold   Answer = "unsold" // an adjustment: fewer units are left
)

func (o Operation) String() string {
	return fmt.Sprintf("client %d, %v to %v: %s %s %q %s %+d: %s %t", o.Client, o.Began, o.Ended, o.Do, o.User, o.Key, o.RID, o.Delta, o.Answer, o.Answered)
}

// units is a sale as one call after the other sees it. A state is never changed, but copied.
type units struct {
	limit int
	stock int64
	taken []held // in order of their making
}

// held is a reservation. Its rid is "" while nobody was told it.
type held struct {
	user, key, rid string
	open           bool
}

// after returns the state after an operation, and whether that can have been answered so.
func (u units) after(o Operation) (units, bool) {
	switch o.Do {
	case Buy:
		return u.buy(o)
	case GiveBack:
		return u.release(o)
	case Adjust:
		return u.adjust(o)
	}
	return u, false
}

// buy: whoever holds a key is answered by its reservation; without one, by an open one, or
// by any once all slots are taken.
func (u units) buy(o Operation) (units, bool) {
	at, open := u.bound(o.User, o.Key)
	answered := func(answer Answer) bool { return !o.Answered || o.Answer == answer }
	switch {
	case o.Answered && o.Answer == SoldOut:
		return u, u.stock <= 0 // from memory, whoever asks
	case at >= 0:
		return u.named(at, o), answered(Replayed) && u.may(at, o)
	case open >= u.limit && o.Key == "":
		return u.replayed(o)
	case open >= u.limit:
		return u, answered(Limit)
	case u.stock <= 0:
		return u, answered(SoldOut)
	}
	next := u.copied()
	next.stock--
	next.taken = append(next.taken, held{user: o.User, key: o.Key, rid: o.RID, open: true})
	return next, answered(Accepted) && !u.knows(o.RID)
}

// bound finds the reservation that a user's key has, -1 for none, and counts the open ones.
func (u units) bound(user, key string) (at, open int) {
	at = -1
	for i, h := range u.taken {
		if h.user != user {
			continue
		}
		if h.open {
			open++
		}
		if h.key == key && (h.open || key != "") {
			at = i
		}
	}
	return at, open
}

// replayed is the answer to an attempt without a key when all slots are taken.
func (u units) replayed(o Operation) (units, bool) {
	if !o.Answered {
		return u, true
	}
	for i, h := range u.taken {
		if h.user == o.User && h.open && u.may(i, o) && o.Answer == Replayed {
			return u.named(i, o), true
		}
	}
	return u, false
}

// may reports whether an answer can name a reservation.
func (u units) may(at int, o Operation) bool {
	rid := u.taken[at].rid
	return o.RID == "" || rid == o.RID || rid == "" && !u.knows(o.RID)
}

// named is the state once somebody was told the rid of a reservation.
func (u units) named(at int, o Operation) units {
	if o.RID == "" || u.taken[at].rid != "" {
		return u
	}
	next := u.copied()
	next.taken[at].rid = o.RID
	return next
}

func (u units) knows(rid string) bool {
	for _, h := range u.taken {
		if h.rid == rid && rid != "" {
			return true
		}
	}
	return false
}

func (u units) release(o Operation) (units, bool) {
	for i, h := range u.taken {
		if h.rid == o.RID && h.open {
			next := u.copied()
			next.taken[i].open = false
			next.stock++
			return next, true
		}
	}
	return u, !o.Answered
}

func (u units) adjust(o Operation) (units, bool) {
	if u.stock+o.Delta < 0 {
		return u, !o.Answered || o.Answer == Unsold
	}
	next := u.copied()
	next.stock += o.Delta
	return next, !o.Answered || o.Answer == Done
}

func (u units) copied() units {
	u.taken = append([]held(nil), u.taken...)
	return u
}
