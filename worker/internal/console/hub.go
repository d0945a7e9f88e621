package console

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxStreams = 32 // pages at a time
	streamRoom = 8  // frames that a page may be behind before it is dropped
)

// Why a stream cannot be opened.
var (
	errFull    = errors.New("too many pages are open")
	errStarted = errors.New("the console has nothing to show yet")
)

// hub holds what was last told, the histories, and the streams of the pages.
type hub struct {
	mu      sync.Mutex
	closed  bool
	seq     int64
	last    *frame                     // nil until something was told
	sales   map[string]json.RawMessage // all of them, as last told
	all     series
	each    map[string]*series
	streams map[chan []byte]struct{}
}

func newHub() *hub {
	return &hub{sales: map[string]json.RawMessage{}, each: map[string]*series{}, streams: map[chan []byte]struct{}{}}
}

// watched reports whether any page is open.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams) > 0
}

// full reports whether no more pages may be open.
func (h *hub) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams) >= maxStreams
}

// remember adds a point to a sale's history, if it has one or there is room.
func (h *hub) remember(id string, t *tracked, p point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.history == nil && len(h.each) < maxSeries {
		t.history = &series{}
		h.each[id] = t.history
	}
	if t.history != nil {
		t.history.add(p)
	}
}

// tell sends a frame to every page; one that is too far behind is dropped, and comes back
// for everything.
func (h *hub) tell(now time.Time, f *frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	f.Seq = h.seq
	h.all.add(pointOfAll(now, f))
	for _, id := range f.Gone {
		delete(h.sales, id)
		delete(h.each, id)
	}
	for _, text := range f.Sales {
		var named struct{ ID string }
		if err := json.Unmarshal(text, &named); err == nil {
			h.sales[named.ID] = text
		}
	}
	h.last = f
	text := encode(f)
	for stream := range h.streams {
		select {
		case stream <- text:
		default:
			h.drop(stream)
		}
	}
}

// drop ends a stream; h.mu is held.
func (h *hub) drop(stream chan []byte) {
	delete(h.streams, stream)
	close(stream)
}

// open makes a stream and the frame with everything that comes before it.
func (h *hub) open(now time.Time) (stream chan []byte, first []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.last == nil || h.closed:
		return nil, nil, errStarted
	case len(h.streams) >= maxStreams:
		return nil, nil, errFull
	}
	full, history := *h.last, h.all.since(now, true)
	full.Full, full.History, full.Gone = true, &history, []string{}
	full.Sales = make([]json.RawMessage, 0, len(h.sales))
	for _, id := range slices.Sorted(maps.Keys(h.sales)) {
		full.Sales = append(full.Sales, h.sales[id])
	}
	stream = make(chan []byte, streamRoom)
	h.streams[stream] = struct{}{}
	return stream, encode(full), nil
}

// leave ends a stream whose page has gone.
func (h *hub) leave(stream chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, open := h.streams[stream]; open {
		h.drop(stream)
	}
}

// of returns a sale's history; false when it has none.
func (h *hub) of(id string, now time.Time) (columns, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.each[id]
	if !ok {
		return columns{}, false
	}
	return s.since(now, false), true
}

// close ends every stream, for good.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for stream := range h.streams {
		h.drop(stream)
	}
}
