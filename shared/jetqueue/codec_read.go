package jetqueue

import (
	"strconv"
	"strings"
	"time"

	"sluice/shared/sale"
)

// readBody reads a body that is, byte for byte, as appendBody writes it, which is what
// gateways and workers of this version publish: reading JSON in general takes several times
// as long, and every order passes here. It is false for any other, readable or not, strings
// with escapes among them: the JSON decoder has the word there.
func readBody(data []byte) (content body, ok bool) {
	r := reader{rest: string(data)}
	r.skip(`{"price_minor":`)
	content.PriceMinor = r.number()
	r.skip(`,"currency":"`)
	content.Currency = r.text()
	r.skip(`,"reservations":[`)
	content.Reservations = make([]sale.Reservation, 0, len(data)/shortest+1)
	for more := true; more && !r.lost; more = r.found(",") {
		content.Reservations = append(content.Reservations, r.reservation())
	}
	r.skip("]}")
	return content, !r.lost && r.rest == ""
}

// shortest is a little less than a reservation takes in a body.
const shortest = 120

// reader takes apart a text whose form is known. Once the text is not of that form it
// is lost, and reads nothing more.
type reader struct {
	rest string
	lost bool
}

func (r *reader) reservation() (v sale.Reservation) {
	r.skip(`{"rid":"`)
	v.RID = r.text()
	r.skip(`,"user":"`)
	v.UserID = r.text()
	r.skip(`,"slot":`)
	v.Slot = int(r.number())
	r.skip(`,"key":"`)
	v.Key = r.text()
	r.skip(`,"rank":`)
	v.Rank = r.number()
	r.skip(`,"at":"`)
	v.AcceptedAt = r.moment()
	r.skip("}")
	return v
}

func (r *reader) skip(expected string) {
	if !r.found(expected) {
		r.lost = true
	}
}

// found takes what may come, if it does.
func (r *reader) found(possible string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, possible)
	return ok
}

// text is what comes before the next quote, which it takes.
func (r *reader) text() string {
	for i := range len(r.rest) {
		switch c := r.rest[i]; {
		case c == '"':
			text := r.rest[:i]
			r.rest = r.rest[i+1:]
			return text
		case c == '\\', c < ' ':
			r.lost = true
			return ""
		}
	}
	r.lost = true
	return ""
}

func (r *reader) number() int64 {
	digits := 0
	for digits < len(r.rest) && r.rest[digits] >= '0' && r.rest[digits] <= '9' {
		digits++
	}
	text := r.rest[:digits]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || digits > 1 && text[0] == '0' {
		r.lost = true
	}
	r.rest = r.rest[digits:]
	return n
}

func (r *reader) moment() time.Time {
	const form = "2006-01-02T15:04:05.000Z"
	text := r.text()
	at, err := time.Parse(time.RFC3339, text)
	// Parse takes other forms too: one digit for an hour, a comma.
	if err != nil || len(text) != len(form) || text[13] != ':' || text[19] != '.' || text[23] != 'Z' {
		r.lost = true
	}
	return at
}
