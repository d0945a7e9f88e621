package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxList is how many entries a list may have, so that a body of empty ones does not
// take a hundred times its size in memory before anybody counts them.
const maxList = 10_000

var (
	errNotObject = errors.New("the body must be one JSON object")
	errNull      = errors.New("null")
	errLong      = errors.New("one entry too many")
	errEarly     = errors.New("a time before 1970")
)

// strict has unknown members refused, null nowhere taken for a zero, lists bounded, and no
// time taken for none: the zero one lies long before 1970, as does nothing that is meant.
// The library itself refuses members that are there twice and invalid UTF-8, and takes no
// number with a fraction or an exponent for a whole one.
var strict = json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(check), json.UnmarshalFromFunc(readTime))))

// check looks at a value before it is read.
func check(d *jsontext.Decoder, _ any) error {
	if d.PeekKind() == jsontext.KindNull {
		return errNull
	}
	if within, before := d.StackIndex(d.StackDepth()); within == jsontext.KindBeginArray && before >= maxList {
		return errLong
	}
	return errors.ErrUnsupported // the type's own reading
}

func readTime(d *jsontext.Decoder, t *time.Time) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, t); err != nil {
		return err
	}
	if t.Unix() < 0 {
		return errEarly
	}
	return nil
}

// Decode reads a JSON object into the struct that into points to, whose tags name all
// the members that it and the objects in it may have, exactly. needed are those of its
// own members that may not be left out; whatever else is left out keeps its value, and
// leaves a pointer nil. A list has at most 10,000 entries, and times lie in 1970 or
// later. Else it names the field at fault, with its path, such as
// lines[3].quantity; "body" when there is none. What was read until then stays in into.
func Decode(body []byte, into any, needed ...string) (field string, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := json.UnmarshalDecode(d, into, strict); err != nil {
		return refusal(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return "body", ErrDataBehind
	}
	if len(needed) == 0 {
		return "", nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return refusal(err)
	}
	for _, name := range needed {
		if _, ok := members[name]; !ok {
			return name, fmt.Errorf("field %q is missing", name)
		}
	}
	return "", nil
}

// refusal names the field of an error of the library and says what it should be.
func refusal(err error) (field string, _ error) {
	var meaning *json.SemanticError
	if errors.As(err, &meaning) {
		unknown := errors.Is(meaning.Err, json.ErrUnknownName)
		field = fieldAt(meaning.JSONPointer, unknown)
		switch {
		case field == "body" && unknown:
			return field, errors.New("there is a field without a name")
		case field == "body":
			return field, errNotObject
		case unknown:
			return field, fmt.Errorf("unknown field %q", field)
		case errors.Is(meaning.Err, errLong):
			field = fieldAt(meaning.JSONPointer.Parent(), false)
			return field, fmt.Errorf("field %q may have %d entries", field, maxList)
		case errors.Is(meaning.Err, errEarly):
			return field, fmt.Errorf("field %q must lie in 1970 or later", field)
		case errors.Is(meaning.Err, errNull):
			return field, fmt.Errorf("field %q must not be null", field)
		default:
			return field, fmt.Errorf("field %q must be %s", field, kindOf(meaning.GoType))
		}
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return "body", errNotObject
	}
	field = fieldAt(syntax.JSONPointer, false)
	if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
		return field, fmt.Errorf("field %q is there twice", field)
	}
	return field, fmt.Errorf("the body is no JSON object: %w", syntax.Err)
}

// kindOf names what a value of the type is in JSON.
func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "a time as of RFC 3339"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number of at most 64 bits"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	default:
		return "of another type"
	}
}
