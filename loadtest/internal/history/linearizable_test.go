package history

import (
	"strings"
	"testing"
	"time"
)

func op(do Doing, user, rid string, answer Answer, began, ended int) Operation {
	return Operation{Do: do, User: user, RID: rid, Answer: answer, Answered: answer != "",
		Began: time.Duration(began) * time.Second, Ended: time.Duration(ended) * time.Second}
}

func TestLinearizable_SeesWhatNoOrderExplains(t *testing.T) {
	t.Parallel()
	more := Operation{Do: Adjust, Delta: 1, Answer: Done, Answered: true, Began: 3 * time.Second, Ended: 4 * time.Second}
	for name, c := range map[string]struct {
		operations []Operation
		holds      bool
	}{
		"one unit":                      {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), op(Buy, "bob", "", SoldOut, 3, 4)}, true},
		"one unit for two":              {[]Operation{op(Buy, "ann", "a", Accepted, 1, 9), op(Buy, "bob", "b", Accepted, 1, 9)}, false},
		"sold out too early":            {[]Operation{op(Buy, "bob", "", SoldOut, 1, 2), op(Buy, "ann", "a", Accepted, 3, 4)}, false},
		"a replay of the same":          {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), op(Buy, "ann", "a", Replayed, 3, 4)}, true},
		"a replay of another":           {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), op(Buy, "ann", "b", Replayed, 3, 4)}, false},
		"a rid for two":                 {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), more, op(Buy, "bob", "a", Accepted, 5, 6)}, false},
		"a unit more":                   {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), more, op(Buy, "bob", "b", Accepted, 5, 6)}, true},
		"a unit back":                   {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), op(GiveBack, "", "a", Done, 3, 4), op(Buy, "bob", "b", Accepted, 5, 6)}, true},
		"a unit back twice":             {[]Operation{op(Buy, "ann", "a", Accepted, 1, 2), op(GiveBack, "", "a", Done, 3, 4), op(GiveBack, "", "a", Done, 3, 4)}, false},
		"a lost reply that took a unit": {[]Operation{op(Buy, "ann", "", "", 1, 2), op(Buy, "bob", "", SoldOut, 3, 4), op(Buy, "ann", "a", Replayed, 5, 6)}, true},
		"a lost reply that did not":     {[]Operation{op(Buy, "ann", "", "", 1, 2), op(Buy, "bob", "b", Accepted, 3, 4)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Linearizable(1, 1, c.operations)
			if (err == nil) != c.holds || err != nil && !strings.Contains(err.Error(), "no order") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Refusals from memory may be old, so that many can have taken effect at any of many moments.
func TestLinearizable_IsDecidedHoweverManyAreToldThatItIsSoldOut(t *testing.T) {
	t.Parallel()
	operations := []Operation{
		op(Buy, "cyn", "c1", Accepted, 2, 20), op(GiveBack, "", "c1", Done, 20, 77), op(Buy, "bob", "b2", Accepted, 78, 82),
	}
	for i, user := range []string{"cyn", "bob", "ann", "bob", "ann"} {
		lost := op(Buy, user, "", "", i, 6)
		lost.Key = strings.Repeat("k", i+1)
		operations = append(operations, lost)
	}
	for i := range 18 {
		operations = append(operations, op(Buy, "dan", "", SoldOut, 0, 14+4*i))
	}
	if err := Linearizable(2, 2, operations); err != nil {
		t.Errorf("with a unit for one of those who heard nothing: %v", err)
	}
	operations = append(operations, op(Adjust, "", "", Unsold, 83, 84), op(Buy, "eve", "e1", Accepted, 85, 86))
	operations[len(operations)-2].Delta = -1
	if err := Linearizable(2, 2, operations); err == nil || !strings.Contains(err.Error(), "no order") {
		t.Errorf("with a unit more than there are: %v", err)
	}
}
