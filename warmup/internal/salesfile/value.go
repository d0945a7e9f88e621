package salesfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// value is one node of the file and the path that leads to it.
type value struct {
	path string // such as sales[0].hold; "" for the whole file
	node ast.Node
}

// field is one key of a mapping with its value.
type field struct {
	name string
	value
}

// errorf says what is wrong with the value and where it stands.
func (v value) errorf(format string, args ...any) error {
	path := v.path
	if path == "" {
		path = "sales file"
	}
	return fmt.Errorf("%s: %s (line %d)", path, fmt.Sprintf(format, args...), v.node.GetToken().Position.Line)
}

// is describes the value for an error: what was found instead.
func (v value) is() string {
	switch node := v.node.(type) {
	case *ast.StringNode:
		return strconv.Quote(shorten(node.Value))
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias"
	case *ast.TagNode:
		return "tagged"
	}
	return shorten(v.node.GetToken().Value)
}

func shorten(text string) string {
	const longest = 80
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "…"
}

// fields returns the keys of a mapping in their order. Repeated keys were
// refused by the parser, and are here again because the rule is ours.
func (v value) fields() ([]field, error) {
	mapping, ok := v.node.(ast.MapNode)
	if !ok {
		return nil, v.errorf("must be a mapping, is %s", v.is())
	}
	var fields []field
	seen := map[string]bool{}
	for entries := mapping.MapRange(); entries.Next(); {
		key, ok := entries.Key().(*ast.StringNode)
		if !ok {
			at := value{v.path, entries.Key()}
			return nil, at.errorf("key must be a text, is %s", at.is())
		}
		if seen[key.Value] {
			return nil, value{v.path, key}.errorf("key %q is there twice", shorten(key.Value))
		}
		seen[key.Value] = true
		fields = append(fields, field{key.Value, value{v.join(key.Value), entries.Value()}})
	}
	return fields, nil
}

func (v value) join(name string) string {
	name = shorten(name)
	if v.path == "" {
		return name
	}
	return v.path + "." + name
}

func (v value) list() ([]value, error) {
	sequence, ok := v.node.(*ast.SequenceNode)
	if !ok {
		return nil, v.errorf("must be a list, is %s", v.is())
	}
	items := make([]value, len(sequence.Values))
	for i, node := range sequence.Values {
		items[i] = value{fmt.Sprintf("%s[%d]", v.path, i), node}
	}
	return items, nil
}

// at is the value at a path below, such as bearers[1].bps; of one that is not there, the
// last that is.
func (v value) at(path string) value {
	name, rest, _ := strings.Cut(path, ".")
	name, index, indexed := strings.Cut(name, "[")
	fields, _ := v.fields()
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return value{v.join(path), v.node}
	}
	below := fields[i].value
	if indexed {
		items, err := below.list()
		n, bad := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || bad != nil || n < 0 || n >= len(items) {
			return below
		}
		below = items[n]
	}
	if rest == "" {
		return below
	}
	return below.at(rest)
}

// mayBeEmpty reads 0..longest characters without control characters.
func (v value) mayBeEmpty(longest int) (string, error) {
	if node, ok := v.node.(*ast.StringNode); ok && node.Value == "" {
		return "", nil
	}
	return v.text(longest)
}

// text reads 1..longest characters without control characters.
func (v value) text(longest int) (string, error) {
	node, ok := v.node.(*ast.StringNode)
	if !ok {
		return "", v.errorf("must be a text, is %s; put it in quotes", v.is())
	}
	if n := utf8.RuneCountInString(node.Value); n < 1 || n > longest {
		return "", v.errorf("must have 1 to %d characters, has %d", longest, n)
	}
	if !utf8.ValidString(node.Value) {
		return "", v.errorf("must be valid UTF-8")
	}
	for _, r := range node.Value {
		if unicode.IsControl(r) {
			return "", v.errorf("must not have control characters, has %U", r)
		}
	}
	return node.Value, nil
}

// integer reads a decimal number. Other spellings are refused: YAML takes 010
// for eight.
func (v value) integer(lowest, highest int64) (int64, error) {
	node, ok := v.node.(*ast.IntegerNode)
	if !ok || !regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`).MatchString(node.GetToken().Value) {
		return 0, v.errorf("must be a whole number in decimal digits, is %s", v.is())
	}
	n, err := strconv.ParseInt(node.GetToken().Value, 10, 64)
	if err != nil || n < lowest || n > highest {
		return 0, v.errorf("must be %d..%d, is %s", lowest, highest, v.is())
	}
	return n, nil
}

func (v value) boolean() (bool, error) {
	node, ok := v.node.(*ast.BoolNode)
	if !ok {
		return false, v.errorf("must be true or false, is %s", v.is())
	}
	return node.Value, nil
}

// duration reads such as 15m or 1h30m, in whole milliseconds.
func (v value) duration(lowest, highest time.Duration) (time.Duration, error) {
	node, ok := v.node.(*ast.StringNode)
	if !ok {
		return 0, v.errorf("must be a duration such as 15m or 720h, is %s", v.is())
	}
	d, err := time.ParseDuration(node.Value)
	switch {
	case err != nil:
		return 0, v.errorf("must be a duration such as 15m or 720h, is %s", v.is())
	case d < lowest || d > highest:
		return 0, v.errorf("must be %v..%v, is %v", lowest, highest, d)
	case d%time.Millisecond != 0:
		return 0, v.errorf("must be whole milliseconds, is %v", d)
	}
	return d, nil
}

// time reads RFC 3339 with a zone, in whole milliseconds: Redis keeps no more.
func (v value) time() (time.Time, error) {
	node, ok := v.node.(*ast.StringNode)
	if !ok {
		return time.Time{}, v.errorf("must be a time such as 2026-12-01T10:00:00+08:00, is %s", v.is())
	}
	at, err := time.Parse(time.RFC3339, node.Value)
	switch {
	case err != nil:
		return time.Time{}, v.errorf("must be a time with a zone such as 2026-12-01T10:00:00+08:00, is %s", v.is())
	case at.Year() < 2000 || at.Year() > 9998:
		return time.Time{}, v.errorf("must lie in the years 2000 to 9998, is %s", v.is())
	case at.Nanosecond()%int(time.Millisecond) != 0:
		return time.Time{}, v.errorf("must be exact to the millisecond, is %s", v.is())
	}
	return at.UTC(), nil
}
