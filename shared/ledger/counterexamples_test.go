package ledger

import (
	"slices"
	"testing"
)

// steps are so many steps of the one task that is under way.
func steps(n int) []Action { return slices.Repeat([]Action{{Step, 0}}, n) }

const (
	handedOver = 4  // steps of a gateway's call
	ordered    = 3  // of a delivery
	released   = 3  // of the releases loop
	rebuilt    = 20 // of a load, at most
)

// expiredAndPaid is an order of ada's that has expired, and is paid after all.
var expiredAndPaid = slices.Concat(
	[]Action{{Attempt, 6}}, steps(handedOver), []Action{{Deliver, 0}}, steps(ordered),
	[]Action{{Expire, 0}, {Release, 0}}, steps(released), []Action{{Pay, 0}},
)

// counterExamples are histories that once violated an invariant, of the protocol or of
// what the ledger took for it. None may again.
var counterExamples = []struct {
	name    string
	setting Setting
	history []Action
}{
	{
		// The rid is the order's, so the next try takes it again; nobody was told of the first.
		"a late payment whose reservation was lost with redis reserves again, under the same rid", Setting{Total: 2, Limit: 1, Rebuy: true},
		slices.Concat(expiredAndPaid, []Action{{ApplyPaid, 0}, {Step, 0}, {LoseReply, 0}, {Lose, 0}, {Notice, 0}}, steps(rebuilt),
			[]Action{{ApplyPaid, 0}, {Step, 0}, {Step, 0}}),
	},
	{
		// What the sweeper read before the loss is published after the count, and superseded,
		// while the next try of the payment has the rid in hand again.
		"a sweeper stands still with a late payment's reservation, over a rebuild", Setting{Total: 2, Limit: 1, Rebuy: true},
		slices.Concat(expiredAndPaid, []Action{{ApplyPaid, 0}, {Step, 0}, {LoseReply, 0}, {Sweep, 0}, {Step, 0}, {Freeze, 0}, {Lose, 0}, {Notice, 0}},
			steps(rebuilt), []Action{{ApplyPaid, 0}, {Step, 0}, {LoseReply, 0}, {Thaw, 0}, {Step, 0}, {Crash, 0}, {Deliver, 0}}, steps(ordered)),
	},
}

func TestProtocol_CounterExamples(t *testing.T) {
	t.Parallel()
	for _, c := range counterExamples {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := Run(New(c.setting), c.history); err != nil {
				t.Fatal(replayed(c.setting, c.history))
			}
		})
	}
}

func TestStores_CounterExamples(t *testing.T) {
	t.Parallel()
	s := realStores(t)
	for _, c := range counterExamples {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := Run(s.world(c.setting), c.history); err != nil {
				t.Fatal(err)
			}
		})
	}
}
