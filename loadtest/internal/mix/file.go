package mix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v4"

	"sluice/shared/strictjson"
)

// maxFileBytes is far above any mix; more would be the wrong file.
const maxFileBytes = 1 << 18

// file is a mix as it is written. What is left out is as in Usual; of a list or of the
// weights that are there, what is left out in them is as fill says.
type file struct {
	Users          int64      `json:"users"`
	Seed           int64      `json:"seed"`
	Attempts       *Parts     `json:"attempts"`
	HotPercent     int64      `json:"hot_percent"`
	RepeatWithin   int64      `json:"repeat_within"`
	FollowPercent  int64      `json:"follow_percent"`
	PollingPercent int64      `json:"polling_percent"`
	Sales          []fileSale `json:"sales"`
}

type fileSale struct {
	ID           string `json:"id"`
	Role         *Role  `json:"role"`
	Count        *int64 `json:"count"`
	Units        *int64 `json:"units"`
	PerUserLimit *int64 `json:"per_user_limit"`
}

// Defaults of a sale that the file has.
const (
	usualRole  = Open
	usualUnits = 1000
)

// Read reads a mix file: YAML or JSON, see docs/mix.yaml. The error, of one line, names
// the file and the field.
func Read(path string) (Mix, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Mix{}, fmt.Errorf("cannot read mix file: %w", err)
	case !info.Mode().IsRegular():
		return Mix{}, fmt.Errorf("cannot read mix file: %s is not a regular file", path)
	case info.Size() > maxFileBytes:
		return Mix{}, fmt.Errorf("cannot read mix file: %s has %d bytes, at most %d are allowed", path, info.Size(), maxFileBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Mix{}, fmt.Errorf("cannot read mix file: %w", err)
	}
	m, err := Parse(text)
	if err != nil {
		return Mix{}, fmt.Errorf("cannot read mix file %s: %w", path, err)
	}
	return m, nil
}

// Parse reads the text of a mix file and checks it.
func Parse(text []byte) (Mix, error) {
	body, err := asJSON(text)
	if err != nil {
		return Mix{}, err
	}
	m := Usual()
	f := file{Users: m.Users, Seed: m.Seed, HotPercent: m.HotPercent, RepeatWithin: m.RepeatWithin, FollowPercent: m.FollowPercent, PollingPercent: m.PollingPercent}
	if field, err := strictjson.Decode(body, &f); err != nil {
		if field == "body" {
			return Mix{}, errors.New("the file must be a mapping, such as docs/mix.yaml")
		}
		return Mix{}, err
	}
	m = f.fill(m)
	return m, m.Check()
}

// asJSON turns YAML, of which JSON is a part, into JSON.
func asJSON(text []byte) ([]byte, error) {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	var content any
	if err := documents.Decode(&content); errors.Is(err, io.EOF) {
		return []byte("{}"), nil // an empty file: everything as usual
	} else if err != nil {
		return nil, oneLine(err)
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document in the file")
	}
	if err := checkKeys(content); err != nil {
		return nil, err
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("cannot use a value in the file: %w", err)
	}
	return body, nil
}

// checkKeys finds keys that are no texts, which YAML may have.
func checkKeys(content any) error {
	switch v := content.(type) {
	case map[any]any:
		for key := range v {
			if _, text := key.(string); !text {
				return fmt.Errorf("unknown field %v: a key must be a text", key)
			}
		}
	case map[string]any:
		for _, below := range v {
			if err := checkKeys(below); err != nil {
				return err
			}
		}
	case []any:
		for _, below := range v {
			if err := checkKeys(below); err != nil {
				return err
			}
		}
	}
	return nil
}

func oneLine(err error) error {
	return errors.New(string(bytes.Join(bytes.Fields([]byte(err.Error())), []byte{' '})))
}

// fill completes what the file says.
func (f file) fill(m Mix) Mix {
	m.Users, m.Seed, m.HotPercent, m.RepeatWithin, m.FollowPercent, m.PollingPercent = f.Users, f.Seed, f.HotPercent, f.RepeatWithin, f.FollowPercent, f.PollingPercent
	if f.Attempts != nil {
		m.Attempts = *f.Attempts
	}
	if f.Sales == nil {
		return m
	}
	m.Sales = make([]Sale, len(f.Sales))
	for i, s := range f.Sales {
		m.Sales[i] = Sale{ID: s.ID, Role: or(s.Role, usualRole), Count: or(s.Count, 1), Units: or(s.Units, usualUnits), PerUserLimit: or(s.PerUserLimit, 1)}
	}
	return m
}

func or[V any](given *V, usual V) V {
	if given == nil {
		return usual
	}
	return *given
}
