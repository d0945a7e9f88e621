package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	eventStream = "text/event-stream"
	eventsOf    = "x-events"
)

// event is one of a stream of server-sent events: its fields by name. What has data
// must also have a name and an id.
type event map[string]string

// events holds each event of a stream against the schema that x-events of its media
// type has for the event's name.
func (s *schemas) events(media *openapi3.MediaType, body []byte) error {
	var schemaOf map[string]string // by event name
	raw, err := json.Marshal(media.Extensions[eventsOf])
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", eventsOf, err)
	}
	if err := json.Unmarshal(raw, &schemaOf); err != nil {
		return fmt.Errorf("cannot read %s: %w", eventsOf, err)
	}
	all, err := parseEvents(string(body))
	if err != nil {
		return err
	}
	for i, e := range all {
		name, ok := schemaOf[e["event"]]
		if !ok || s.compiled[schemaPrefix+name] == nil {
			return fmt.Errorf("event %d is named %q, which %s has no schema for", i, e["event"], eventsOf)
		}
		if e["id"] == "" {
			return fmt.Errorf("event %d has no id", i)
		}
		if err := s.body(name, "application/json", []byte(e["data"])); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// parseEvents returns the events that have data. It takes no more than what services
// here send: one line a field, and whole events.
func parseEvents(stream string) ([]event, error) {
	blocks := strings.Split(stream, "\n\n")
	if last := len(blocks) - 1; blocks[last] != "" {
		return nil, fmt.Errorf("the stream ends inside an event: %q", blocks[last])
	}
	var all []event
	for _, block := range blocks[:len(blocks)-1] {
		e, err := parseEvent(block)
		if err != nil {
			return nil, err
		}
		if _, ok := e["data"]; ok {
			all = append(all, e)
		}
	}
	return all, nil
}

func parseEvent(block string) (event, error) {
	e := event{}
	for line := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(line, ":") {
			continue // a comment
		}
		field, value, ok := strings.Cut(line, ": ")
		if _, twice := e[field]; twice || !ok || !slices.Contains([]string{"id", "event", "data", "retry"}, field) {
			return nil, fmt.Errorf("not a line of an event: %q", line)
		}
		e[field] = value
	}
	if e["data"] == "" && (e["event"] != "" || e["id"] != "") {
		return nil, errors.New("an event has no data")
	}
	return e, nil
}
