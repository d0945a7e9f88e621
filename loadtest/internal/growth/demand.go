package growth

import (
	"net/http"
	"strconv"
	"sync"

	"sluice/loadtest/internal/loop"
)

// demand is attempts of ever new users, over the sales that are sold in turn. Nothing is kept
// of a user: a token is made as its attempt is.
func (t *site) demand() loop.Load {
	ids, from := t.selling, t.next
	var mu sync.Mutex
	l := loop.Load{
		URL: t.Info.Gateways[0].URL, Connections: t.Connections, Want: http.StatusAccepted,
		Request: func(into []byte, i int) []byte {
			into = append(into, "POST /v1/sales/"...)
			into = append(into, ids[i%len(ids)]...)
			into = append(into, "/orders HTTP/1.1\r\nHost: sluice\r\nContent-Length: 0\r\nAuthorization: Bearer "...)
			into = append(into, t.Tokens.Token("user-"+strconv.Itoa(from+i))...)
			return append(into, "\r\n\r\n"...)
		},
		Answered: func(i int, _ []byte) error {
			mu.Lock()
			defer mu.Unlock()
			t.accepted[ids[i%len(ids)]]++
			return nil
		},
	}
	for _, g := range t.Info.Gateways[1:] {
		l.Also = append(l.Also, g.URL)
	}
	return l
}

// sent notes how many users a load has used up, and what it was answered otherwise than 202.
func (t *site) sent(m loop.Measurement) {
	t.others += m.Unwanted
	t.next += m.Wanted + m.Unwanted + t.Connections
}
