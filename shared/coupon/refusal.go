package coupon

// Refusal says why a transition cannot be made; "" when it can.
type Refusal string

// Refusals of transitions.
const (
	RefusedNotStarted Refusal = "not_started" // it is not valid yet
	RefusedLocked     Refusal = "locked"      // by another order, or for an order at all
	RefusedRedeemed   Refusal = "redeemed"    // by another order, or by an order at all
	RefusedExpired    Refusal = "expired"     // it is not valid any more
	RefusedVoid       Refusal = "void"        // it was taken back
	RefusedDone       Refusal = "done"        // this order has it so already: its first answer holds
	RefusedNotHeld    Refusal = "not_held"    // this order has neither locked nor redeemed it
	RefusedNotDue     Refusal = "not_due"     // the time has not come
	RefusedKept       Refusal = "kept"        // its terms do not return it
)

// refusalOf is what a coupon is refused for that somebody else has, or nobody can have.
func refusalOf(s State) Refusal {
	switch s {
	case StateLocked:
		return RefusedLocked
	case StateRedeemed:
		return RefusedRedeemed
	case StateExpired:
		return RefusedExpired
	case StateVoid:
		return RefusedVoid
	case StateIssued:
	}
	return ""
}
