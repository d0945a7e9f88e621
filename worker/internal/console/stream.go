package console

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	writeWithin = 5 * time.Second  // one frame
	beatEvery   = 15 * time.Second // without a frame
)

// events is the stream of a page: server-sent events, each a frame. It ends with the
// session, with the worker, when the page goes, or when it cannot keep up; a page that
// comes back gets everything, so what it saw last (Last-Event-ID) does not matter.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	until := c.admitted(r, now)
	stream, first, err := c.hub.open(now)
	if err != nil {
		w.Header().Set("Retry-After", "2")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer c.hub.leave(stream)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that waits for more would hide a second, or all of it
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // of the request, which was read; a stream goes on
	end, beat := time.NewTimer(until.Sub(now)), time.NewTicker(beatEvery)
	defer end.Stop()
	defer beat.Stop()
	for text, open := first, true; open; {
		if c.admitted(r, time.Now()).IsZero() || write(w, out, text) != nil {
			return
		}
		select {
		case text, open = <-stream:
		case <-beat.C:
			text = nil
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// write sends a frame, or a comment when there is none.
func write(w http.ResponseWriter, out *http.ResponseController, text []byte) error {
	deadline := out.SetWriteDeadline(time.Now().Add(writeWithin))
	var err error
	if text == nil {
		_, err = fmt.Fprint(w, ": alive\n\n")
	} else {
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	return errors.Join(deadline, err, out.Flush())
}

// history answers with the last ten minutes of one sale.
func (c *Console) history(w http.ResponseWriter, r *http.Request) {
	columns, ok := c.hub.of(r.URL.Query().Get("sale"), time.Now())
	if !ok {
		http.Error(w, "no history of this sale", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(columns)) // an error means that the page has gone
}
