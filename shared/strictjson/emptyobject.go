// Package strictjson reads request bodies that must be exactly what they are
// documented to be, and names the field of one that is not.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxFieldName is how much of a field's name, or path, an error repeats, in characters.
const maxFieldName = 64

// ErrDataBehind is of a body that goes on behind its object.
var ErrDataBehind = errors.New("the body has data behind the JSON object")

var errNotEmptyObject = errors.New("the body must be empty or the JSON object {}")

// UnknownFieldError is of a field where none may be.
type UnknownFieldError struct {
	Name string // shortened
	why  string // there are none
}

func (e *UnknownFieldError) Error() string { return fmt.Sprintf("unknown field %q: %s", e.Name, e.why) }

// EmptyObject accepts no body, or {} with any white space. Else it names the field
// at fault, "body" when there is none; noFields says why there may be no fields,
// such as "a cancellation has no fields".
func EmptyObject(body []byte, noFields string) (field string, err error) {
	if len(body) == 0 || string(body) == "{}" { // nearly every body, without an allocation
		return "", nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "body", errNotEmptyObject
	}
	t, err := d.Token()
	if name, ok := t.(string); ok && err == nil {
		name = shortened(name)
		return cmp.Or(name, "body"), &UnknownFieldError{Name: name, why: noFields}
	}
	if err != nil || t != json.Delim('}') {
		return "body", errNotEmptyObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "body", ErrDataBehind
	}
	return "", nil
}

func shortened(name string) string {
	if runes := []rune(name); len(runes) > maxFieldName {
		return string(runes[:maxFieldName]) + "…"
	}
	return name
}
