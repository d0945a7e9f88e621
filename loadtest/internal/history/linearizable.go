package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// judgeWithin bounds the search for an order: it takes long only where there is none, or
// where a history is too large.
const judgeWithin = time.Minute

// Linearizable returns nil if the operations on one sale can be put into one order, each
// at a moment between its begin and its end, in which a sale that serves one call after
// the other gives these answers. For small histories.
func Linearizable(stock int64, limit int, operations []Operation) error {
	operations = withoutImplied(operations)
	calls := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		calls[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Began.Nanoseconds(), Return: o.Ended.Nanoseconds()}
		if !o.Answered {
			calls[i].Return = math.MaxInt64
		}
	}
	model := porcupine.Model{
		Init: func() any { return units{limit: limit, stock: stock} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(units).after(input.(Operation))
			return ok, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(units), b.(units)
			return x.stock == y.stock && slices.Equal(x.taken, y.taken)
		},
	}
	switch porcupine.CheckOperationsTimeout(model, calls, judgeWithin) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("not decided within %v:\n%s", judgeWithin, lines(operations))
	default:
		return fmt.Errorf("no order of these calls explains their answers:\n%s", lines(operations))
	}
}

// withoutImplied leaves out who was told that it is sold out, where another was told so
// within that time: the moment that explains the one explains the other. Such answers may be
// old, so there are many at a time, and the search is through all orders of them.
func withoutImplied(operations []Operation) []Operation {
	var kept []Operation
	for i, o := range operations {
		implies := func(j int, other Operation) bool {
			same := other.Began == o.Began && other.Ended == o.Ended
			return other.Answer == SoldOut && other.Began >= o.Began && other.Ended <= o.Ended && (!same || j < i)
		}
		implied := false
		for j, other := range operations {
			implied = implied || o.Answer == SoldOut && implies(j, other)
		}
		if !implied {
			kept = append(kept, o)
		}
	}
	return kept
}

func lines(operations []Operation) string {
	sorted := slices.SortedFunc(slices.Values(operations), func(a, b Operation) int { return cmp.Compare(a.Began, b.Began) })
	var text strings.Builder
	for _, o := range sorted {
		fmt.Fprintln(&text, o)
	}
	return text.String()
}
