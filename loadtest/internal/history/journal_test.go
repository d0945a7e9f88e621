package history

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestJournal_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	events, _ := world()
	var text bytes.Buffer
	j := NewJournal(&text)
	for _, e := range events {
		j.Add(e)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	read, err := ReadEvents(&text)
	if err != nil || !slices.Equal(read, events) {
		t.Errorf("read %v, %v", read, err)
	}
}

func TestJournal_ManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	j := NewJournal(&text)
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range 100 {
				began := j.Now()
				j.Add(Event{Kind: Read, Began: began, Ended: j.Now(), RID: strings.Repeat("r", 100)})
			}
		})
	}
	clients.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if read, err := ReadEvents(&text); err != nil || len(read) != 1600 {
		t.Errorf("read %d events, %v", len(read), err)
	}
}

type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestJournal_AFaultIsNotForgotten(t *testing.T) {
	t.Parallel()
	j := NewJournal(full{})
	for range 10_000 {
		j.Add(Event{Kind: Attempt})
	}
	if err := j.Close(); !errors.Is(err, errFull) {
		t.Errorf("closed with %v", err)
	}
}

func TestReadEvents_SaysWhichIsBroken(t *testing.T) {
	t.Parallel()
	_, err := ReadEvents(strings.NewReader(`{"kind":"read"}` + "\n{"))
	if err == nil || !strings.Contains(err.Error(), "event 2") {
		t.Errorf("error %v", err)
	}
}
