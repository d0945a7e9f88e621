package console

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestHub_DropsWhoIsTooSlowAndNobodyElse(t *testing.T) {
	t.Parallel()
	h, now := newHub(), time.Now()
	h.tell(now, &frame{})
	slow, _, err := h.open(now)
	if err != nil {
		t.Fatal(err)
	}
	quick, _, err := h.open(now)
	if err != nil {
		t.Fatal(err)
	}
	for range streamRoom + 1 {
		h.tell(now, &frame{})
		if _, open := <-quick; !open {
			t.Fatal("a stream that is read was dropped")
		}
	}
	read := 0
	for range slow {
		read++
	}
	if read != streamRoom || len(h.streams) != 1 {
		t.Errorf("the slow one got %d frames, %d streams are left", read, len(h.streams))
	}
	h.leave(slow) // its handler leaves too
	h.leave(quick)
	if h.watched() {
		t.Error("somebody watches")
	}
}

func TestHub_TellsANewPageWhatChangedBefore(t *testing.T) {
	t.Parallel()
	h, now := newHub(), time.Now()
	h.tell(now, &frame{Sales: []json.RawMessage{[]byte(`{"id":"a","n":1}`), []byte(`{"id":"b"}`)}})
	h.tell(now, &frame{Sales: []json.RawMessage{[]byte(`{"id":"a","n":2}`)}, Gone: []string{"b"}})
	_, first, err := h.open(now)
	if err != nil {
		t.Fatal(err)
	}
	var got frame
	if err := json.Unmarshal(first, &got); err != nil || len(got.Sales) != 1 || string(got.Sales[0]) != `{"id":"a","n":2}` || !got.Full {
		t.Errorf("%s, %v", first, err)
	}
}

func TestHistory_IsBounded(t *testing.T) {
	t.Parallel()
	h, now := newHub(), time.Now()
	sales := make([]*tracked, maxSeries+1)
	for i := range sales {
		sales[i] = &tracked{}
		h.remember(fmt.Sprint(i), sales[i], point{at: now.UnixMilli()})
	}
	if len(h.each) != maxSeries || sales[maxSeries].history != nil {
		t.Errorf("%d sales have a history", len(h.each))
	}
	for i := range 2 * maxPoints {
		h.remember("0", sales[0], point{at: now.Add(time.Duration(i) * time.Second).UnixMilli(), waiting: float32(i), age: unknown})
	}
	last := now.Add(time.Duration(2*maxPoints-1) * time.Second)
	c, ok := h.of("0", last)
	if !ok || len(c.At) != maxPoints || c.At[maxPoints-1] != last.UnixMilli() || *c.Waiting[0] != float32(maxPoints) || c.Age[0] != nil {
		t.Errorf("%d points", len(c.At))
	}
	if c, _ := h.of("0", last.Add(historySpan/2)); len(c.At) != maxPoints/2+1 {
		t.Errorf("%d points are of the last ten minutes", len(c.At))
	}
	h.tell(now, &frame{Gone: []string{"0"}})
	if _, ok := h.of("0", now); ok {
		t.Error("the history of a sale that is gone stays")
	}
}

func TestHistory_OfAPausedPaceIsZero(t *testing.T) {
	t.Parallel()
	for paused, want := range map[bool]float32{true: 0, false: 400} {
		if got := pointOfAll(time.Now(), &frame{Pace: &paceBody{Paused: paused, Orders: 400}}).pace; got != want {
			t.Errorf("paused %v: %v", paused, got)
		}
	}
}
