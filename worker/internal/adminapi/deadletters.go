package adminapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/shared/sale"
)

// maxExcerpt is how much of a dead letter a list shows, in bytes.
const maxExcerpt = 200

// letters are the dead letters.
type letters interface {
	// DeadLetters returns a page, with the first bytes of each payload.
	DeadLetters(ctx context.Context, saleID string, state sale.LetterState, p sale.Page, excerpt int) ([]sale.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (sale.DeadLetter, error)
	// SettleLetter marks an open one; ErrLetterSettled beside one that has another mark.
	SettleLetter(ctx context.Context, by sale.Actor, id int64, state sale.LetterState) (sale.DeadLetter, error)
	// Undecided returns those of rids that have no outcome.
	Undecided(ctx context.Context, rids []string) ([]string, error)
}

// handOvers read what could not be read when it came, and hand it over again.
type handOvers interface {
	// Reread decodes a dead letter; ErrUnreadable.
	Reread(l sale.DeadLetter) (sale.HandOver, error)
	Publish(ctx context.Context, h sale.HandOver) (seq uint64, err error)
}

type letterBody struct {
	ID       int64            `json:"id"`
	Sale     string           `json:"sale"`
	Kind     string           `json:"kind"` // hand_over, reservation
	RID      string           `json:"rid,omitempty"`
	Epoch    int64            `json:"epoch"`
	Sequence uint64           `json:"sequence"`
	Reason   string           `json:"reason"`
	State    sale.LetterState `json:"state"`
	At       time.Time        `json:"created_at"`
	Size     int64            `json:"size"`    // bytes
	Excerpt  string           `json:"excerpt"` // its beginning; what is not printable is ?
}

func letterBodyOf(l sale.DeadLetter) letterBody {
	body := letterBody{
		ID: l.ID, Sale: l.SaleID, Kind: "hand_over", RID: l.RID, Epoch: l.Epoch, Sequence: l.Sequence,
		Reason: l.Reason, State: l.State, At: l.At, Size: l.Size,
	}
	if l.RID != "" {
		body.Kind = "reservation"
	}
	body.Excerpt = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, string(l.Payload[:min(len(l.Payload), maxExcerpt)]))
	return body
}

func (a *API) listLetters(ctx context.Context, c call) {
	query, bad := c.query("sale", "state", "limit", "before")
	if bad != nil {
		bad.write(c.w)
		return
	}
	saleID, bad := saleOf(query)
	state, badState := letterState(query)
	p, badPage := page(query)
	if bad = first(bad, badState, badPage); bad != nil {
		bad.write(c.w)
		return
	}
	rows, err := c.Letters.DeadLetters(ctx, saleID, state, p, maxExcerpt)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, struct {
		Letters []letterBody `json:"dead_letters"`
		Next    *int64       `json:"next"`
	}{each(rows, letterBodyOf), next(rows, p, func(l sale.DeadLetter) int64 { return l.ID })})
}

func letterState(query map[string]string) (sale.LetterState, *problem) {
	text, ok := query["state"]
	state := sale.LetterState(text)
	if ok && !slices.Contains([]sale.LetterState{sale.LetterOpen, sale.LetterRetried, sale.LetterDropped}, state) {
		return "", invalidRequest("state", "state must be open, retried or dropped.")
	}
	return state, nil
}

// retryLetter hands over again what no worker could read when it came, if this one
// can, and if something in it has no outcome yet. A crash before the mark leaves it
// open: handed over twice, it is ordered once.
func (a *API) retryLetter(ctx context.Context, c call) {
	a.settle(ctx, c, sale.LetterRetried, func(l sale.DeadLetter) error {
		if l.RID != "" {
			return errDecided
		}
		c.sale = l.SaleID
		st, err := c.standing(ctx)
		if err != nil || st.Retired {
			return cmp.Or(err, ErrRetired)
		}
		h, err := c.HandOvers.Reread(l)
		if err != nil {
			return err
		}
		if h.Epoch < st.Epoch && !st.Rebuilding {
			// The rebuild counted its units as free. In a stream that was made anew since,
			// this would pass for a hand-over that the rebuild had ordered.
			return errDecided
		}
		rids := each(h.Reservations, func(r sale.Reservation) string { return r.RID })
		undecided, err := c.Letters.Undecided(ctx, rids)
		if err != nil {
			return err
		}
		h.Reservations = slices.DeleteFunc(h.Reservations, func(r sale.Reservation) bool { return !slices.Contains(undecided, r.RID) })
		if len(h.Reservations) == 0 {
			return errDecided
		}
		seq, err := c.HandOvers.Publish(ctx, h)
		if err == nil {
			a.log.Info("dead letter handed over again", "sale", l.SaleID, "letter", l.ID, "seq", seq, "reservations", len(h.Reservations))
		}
		return err
	})
}

func (a *API) dropLetter(ctx context.Context, c call) {
	a.settle(ctx, c, sale.LetterDropped, func(sale.DeadLetter) error { return nil })
}

var errDecided = errors.New("every reservation in it is decided")

// settle does what there is to do about an open letter, then marks it.
func (a *API) settle(ctx context.Context, c call, state sale.LetterState, do func(sale.DeadLetter) error) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	letter, err := c.letter(ctx)
	if err == nil && letter.State == sale.LetterOpen {
		err = do(letter)
	}
	if err == nil {
		letter, err = c.Letters.SettleLetter(ctx, c.by, letter.ID, state)
	}
	switch {
	case errors.Is(err, ErrLetterSettled):
		letterSettled(letter.State).write(c.w)
	case errors.Is(err, errDecided):
		decided.write(c.w)
	case err != nil:
		a.fail(c, err)
	default:
		c.answer(http.StatusOK, letterBodyOf(letter))
	}
}

func (c call) letter(ctx context.Context) (sale.DeadLetter, error) {
	id, err := strconv.ParseInt(c.r.PathValue("id"), 10, 64)
	if err != nil {
		return sale.DeadLetter{}, ErrNoLetter
	}
	return c.Letters.DeadLetter(ctx, id)
}
