package ledger

// Protection is something that the protocol does so that an invariant holds. A World may
// be without some: then the checks must find what comes of it.
type Protection string

// Protections, by what the world without it does.
const (
	ReleaseOnce        Protection = "a ticket that is closed gives its unit back once more"
	ReserveOnce        Protection = "an attempt whose rid is known is decided again"
	SettleMovesNoUnit  Protection = "settle gives units back"
	EpochCompared      Protection = "scripts work on the epoch that their caller believes in"
	RunIDCompared      Protection = "a Redis that came back old serves on"
	AdjustOnce         Protection = "an adjustment that Redis knows moves units again"
	IncreaseTruthFirst Protection = "an increase reaches Redis before Postgres"
	DecreaseRedisFirst Protection = "a decrease leaves the total before the stock"
	AnswerAfterAck     Protection = "202 is answered before the hand-over is acknowledged"
	AckAfterCommit     Protection = "a hand-over is acknowledged before its orders are committed"
	Sweeping           Protection = "nobody hands over what a gateway left in handoff"
	RowsReturned       Protection = "held moves by the reservations sent"
	ConditionalUpdate  Protection = "expiry does not ask for the order's state"
	AppliedAfterRedis  Protection = "a release is marked as applied before Redis has it"
	WaitForAnswers     Protection = "a load does not wait until no answer is still to come"
	OrderBeforeCount   Protection = "a load counts what is free before all is ordered"
	LoadBeforeFlip     Protection = "a load flips before the tickets are there"
	LoadAdjustments    Protection = "a load forgets which adjustments the total has"
	Supersede          Protection = "what was handed over after a load has counted is ordered all the same"
	LateTakesUnit      Protection = "a payment after expiry revives the order without a unit of Redis"
	PaidOrderIsLeft    Protection = "a second payment of an order counts as its first"
)

// off are the protections that a world is without.
type off map[Protection]bool

// protections are all of them.
var protections = []Protection{
	ReleaseOnce, ReserveOnce, SettleMovesNoUnit, EpochCompared, RunIDCompared, AdjustOnce, IncreaseTruthFirst,
	DecreaseRedisFirst, AnswerAfterAck, AckAfterCommit, Sweeping, RowsReturned, ConditionalUpdate,
	AppliedAfterRedis, WaitForAnswers, OrderBeforeCount, LoadBeforeFlip, LoadAdjustments, Supersede, LateTakesUnit,
	PaidOrderIsLeft,
}
