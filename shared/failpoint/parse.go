package failpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads `name=kill[@N],name=error[@N]`. kill acts at the N-th hit, by
// default the first; error at the N-th hit only, by default at every hit.
// Names outside known are refused, so that a misspelt point cannot pass a test
// by never being hit. An empty spec gives the nil Set.
func Parse(spec string, known ...string) (*Set, error) {
	if spec == "" {
		return nil, nil
	}
	set := &Set{points: map[string]*point{}}
	for item := range strings.SplitSeq(spec, ",") {
		name, action, _ := strings.Cut(item, "=")
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("cannot arm failpoint %q of %s: known are %s", name, Variable, strings.Join(known, ", "))
		}
		if set.points[name] != nil {
			return nil, fmt.Errorf("cannot arm failpoint %q of %s twice", name, Variable)
		}
		p, err := parseAction(action)
		if err != nil {
			return nil, fmt.Errorf("cannot arm failpoint %q of %s: %w", name, Variable, err)
		}
		set.points[name] = p
	}
	return set, nil
}

func parseAction(text string) (*point, error) {
	action, count, counted := strings.Cut(text, "@")
	p := &point{kill: action == "kill"}
	switch action {
	case "kill":
		p.at = 1
	case "error":
	default:
		return nil, fmt.Errorf("action must be kill or error, is %q", action)
	}
	if !counted {
		return p, nil
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("hit must be a number from 1, is %q", count)
	}
	p.at = n
	return p, nil
}
