package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Journal writes events, one JSON object a line. It is safe for concurrent use. The
// first fault is kept for Close; what comes after it is lost.
type Journal struct {
	began time.Time

	mu  sync.Mutex
	out *bufio.Writer
	err error
}

// NewJournal begins a history at the moment of the call.
func NewJournal(w io.Writer) *Journal { return &Journal{began: time.Now(), out: bufio.NewWriter(w)} }

// Now is the time since the history's begin, for Event.Began and Event.Ended.
func (j *Journal) Now() time.Duration { return time.Since(j.began) }

// Add writes an event.
func (j *Journal) Add(e Event) {
	line, err := json.Marshal(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		_, err = j.out.Write(append(line, '\n'))
	}
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("cannot write history: %w", err)
	}
}

// Close writes what is buffered. A history with a fault proves nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.out.Flush(); err != nil && j.err == nil {
		j.err = fmt.Errorf("cannot write history: %w", err)
	}
	return j.err
}

// ReadEvents reads a journal.
func ReadEvents(r io.Reader) ([]Event, error) {
	var all []Event
	decoder := json.NewDecoder(r)
	for {
		var e Event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("cannot read event %d of the history: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
}
