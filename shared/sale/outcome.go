package sale

// Outcome is how an attempt leaves the funnel. Refusals are outcomes, not
// errors; errors are for faults only.
type Outcome int

// Outcomes of an attempt.
const (
	NoOutcome       Outcome = iota // not decided: nobody is told anything good by mistake
	Accepted                       // reserved and durably handed over
	Confirmed                      // instant mode: the order row exists
	Replay                         // an earlier attempt already holds the ticket
	SoldOut                        // no unit left
	NotOpen                        // before opens_at
	OutOfWindow                    // at or after closes_at
	LimitReached                   // an unknown key while all slots are taken
	Rejected                       // instant mode: the order was refused
	Unauthenticated                // no valid token
	NotEligible                    // the sale's conditions exclude this buyer
	Invalid                        // malformed request
	NoSuchSale                     // not in the catalogue
	TooLarge                       // body or headers over the limit
	TooMany                        // client limit
	Busy                           // admission refused: nothing was reserved
	Paused                         // the operator paused the sale
	Unavailable                    // a fault or an unknown hand-over; may carry the ticket
	numOutcomes
)

var outcomeNames = [numOutcomes]string{
	NoOutcome: "none", Accepted: "accepted", Confirmed: "confirmed", Replay: "replay", SoldOut: "sold_out",
	NotOpen: "not_open", OutOfWindow: "closed", LimitReached: "limit_reached", Rejected: "rejected",
	Unauthenticated: "unauthenticated", NotEligible: "not_eligible", Invalid: "invalid",
	NoSuchSale: "no_such_sale", TooLarge: "too_large", TooMany: "too_many", Busy: "busy",
	Paused: "paused", Unavailable: "unavailable",
}

// String returns the outcome's label in metrics and reports.
func (o Outcome) String() string { return outcomeNames[o] }

// Outcomes lists all outcomes, for metrics that register every label up front.
func Outcomes() []Outcome {
	all := make([]Outcome, numOutcomes)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// Layer is one of the funnel's ordered checks.
type Layer int

// Layers of the funnel, in the order an attempt meets them.
const (
	LayerAddress     Layer = iota // attempts of one client address
	LayerRequest                  // path, sale, key and body are well formed
	LayerMemory                   // sold-out, window and pause, from memory
	LayerToken                    // who is asking
	LayerUser                     // attempts of one buyer
	LayerEligibility              // may they ask
	LayerAdmission                // bounded queue in front of the script
	LayerReserve                  // dedupe and deduct in Redis
	LayerHandOver                 // JetStream has it
	LayerInstant                  // instant mode: the outcome came in time, or not
	numLayers
)

var layerNames = [numLayers]string{
	"address", "request", "memory", "token", "user", "eligibility", "admission", "reserve", "hand_over", "instant",
}

// String returns the layer's label in metrics and reports.
func (l Layer) String() string { return layerNames[l] }

// Layers lists all layers in order.
func Layers() []Layer {
	all := make([]Layer, numLayers)
	for i := range all {
		all[i] = Layer(i)
	}
	return all
}
