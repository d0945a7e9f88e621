package capacity

// Kind is a kind of process.
type Kind string

// Kinds of processes.
const (
	Gateways Kind = "gateways"
	Workers  Kind = "workers"
	Redis    Kind = "redis"
	NATS     Kind = "nats"
	Postgres Kind = "postgres"
	Tool     Kind = "tool" // what sends: buyers have machines of their own
)

// Kinds are all of a stack, in the order in which an attempt meets them.
func Kinds() []Kind { return []Kind{Gateways, Redis, NATS, Workers, Postgres} }

// Cost is the CPU time, in seconds, that one operation takes of each kind.
type Cost map[Kind]float64

// Total is that of all kinds of a stack together.
func (c Cost) Total() (all float64) {
	for _, kind := range Kinds() {
		all += c[kind]
	}
	return all
}

// Less is what is left when a part of an operation is taken away: of no kind less than nothing.
func (c Cost) Less(part Cost) Cost {
	left := make(Cost, len(c))
	for kind, spent := range c {
		left[kind] = max(0, spent-part[kind])
	}
	return left
}

// Costs are what a sale is made of.
type Costs struct {
	Refusal Cost `json:"refusal"` // an attempt refused from memory
	Script  Cost `json:"script"`  // an attempt that the reserve script decides and nobody hands over: its token, its place in a call
	Accept  Cost `json:"accept"`  // an attempt that gets a unit: the same, and its hand-over
	Order   Cost `json:"order"`   // a reservation made an order, settled and told
	Poll    Cost `json:"poll"`    // a read of a ticket

	Together float64 `json:"attempts_in_a_call"` // while Accept was measured
	Call     Cost    `json:"call"`               // of a reserve call with its hand-over, however many it carries

	Message       float64 `json:"message_seconds"` // from a hand-over's publication to its acknowledgement while no other is under way: the disk's sync is in it
	BytesPerOrder float64 `json:"bytes_per_order"` // that Postgres keeps, indexes included
}

// HandOver is what a hand-over costs beside its script.
func (c Costs) HandOver() Cost { return c.Accept.Less(c.Script) }

// accept is what kind spends on an attempt that is accepted, when so many travel together.
func (c Costs) accept(kind Kind, together float64) float64 {
	return max(0, c.Accept[kind]+c.Call[kind]*(1/max(1, together)-1/max(1, c.Together)))
}
