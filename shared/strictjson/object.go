package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

var errNotObject = errors.New("the body must be one JSON object")

// Optional makes a member's target one of a member that may be left out.
func Optional(target any) any { return optional{target} }

type optional struct{ target any }

// Object reads a JSON object that has exactly the members named, each once, into
// their targets: *string, *int64 for a whole number, *bool, or *time.Time; Optional
// of one may be left out. Else it names the field at fault, "body" when there is none.
func Object(body []byte, members map[string]any) (field string, err error) {
	if !utf8.Valid(body) {
		return "body", errors.New("the body is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "body", errNotObject
	}
	seen := make(map[string]bool, len(members))
	for d.More() {
		if field, err := member(d, members, seen); err != nil {
			return field, err
		}
	}
	if _, err := d.Token(); err != nil {
		return "body", errNotObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "body", ErrDataBehind
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, mayLack := members[name].(optional); !seen[name] && !mayLack {
			return name, fmt.Errorf("field %q is missing", name)
		}
	}
	return "", nil
}

// member reads one member, its name first.
func member(d *json.Decoder, members map[string]any, seen map[string]bool) (field string, err error) {
	t, err := d.Token()
	name, ok := t.(string)
	if err != nil || !ok {
		return "body", errNotObject
	}
	target, known := members[name]
	short := shortened(name)
	switch {
	case !known && name == "":
		return "body", errors.New("there is a field without a name")
	case !known:
		return short, fmt.Errorf("unknown field %q", short)
	case seen[name]:
		return short, fmt.Errorf("field %q is there twice", short)
	}
	seen[name] = true
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return "body", errNotObject
	}
	return short, set(target, value, short)
}

func set(target any, value json.RawMessage, name string) (err error) {
	if o, ok := target.(optional); ok {
		target = o.target
	}
	switch target := target.(type) {
	case *bool:
		if *target = string(value) == "true"; !*target && string(value) != "false" {
			return fmt.Errorf("field %q must be true or false", name)
		}
	case *time.Time:
		if value[0] != '"' || json.Unmarshal(value, target) != nil {
			return fmt.Errorf("field %q must be a time as of RFC 3339", name)
		}
	case *int64:
		if *target, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return fmt.Errorf("field %q must be a whole number", name)
		}
	case *string:
		if value[0] != '"' || json.Unmarshal(value, target) != nil {
			return fmt.Errorf("field %q must be a string", name)
		}
	default:
		return fmt.Errorf("field %q has a target of an unknown type", name)
	}
	return nil
}
