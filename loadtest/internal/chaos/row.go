package chaos

import (
	"context"
	"strings"
	"time"
)

// Row is one fault of the matrix.
type Row struct {
	ID     string        // its number in the matrix
	Name   string        // lower-case-with-dashes, as it is asked for
	Fault  string        // in words
	Expect string        // in words
	Stack  Needs         // what it needs to be shared with others
	Bound  time.Duration // from the heal until the sale goes on
	Also   string        // invariants that it is held against beside those that all are: "I10 I12"
	Files  uint64        // that each process may have to have open; 0 is what programs are given anyway
	Short  bool          // one of the set that takes minutes, for every change
	Shows  []string      // of a control: the finding that it must show, as report.IsFinding knows it, and then those that may come with it

	DeadLetters int64 // that it leaves; no other row may leave any

	Run func(ctx context.Context, r *Round) error
}

// Needs are what a row wants of its stack. Rows with the same needs share one.
type Needs struct {
	Proxied  bool   // the stores are reached through proxies that break what passes
	Apart    bool   // gateways reach NATS through a proxy that workers do not need
	Gateways string // settings of gateways, such as "SLUICE_ADDRESS_RATE=5", separated by spaces
	Workers  string // settings of workers
	Mutation string // the programs are built without a protection, by its name in package mutants
	Cluster  bool   // the stores are clusters, and there are four gateways and four workers
	Replica  bool   // Redis has a replica, and refuses to write without it
	Disk     string // that JetStream's data is on: smallDisk, powerDisk, or "" for any
	NATSSync string // sync_interval of nats-server; "" is always
}

func (n Needs) workerSettings() []string { return strings.Fields(n.Workers) }

// fleet is how many gateways and workers the stack has.
func (n Needs) fleet() (gatewayCount, workerCount int) {
	if n.Cluster {
		return clusterGateways, clusterWorkers
	}
	return gateways, workers
}

// ClusterRows are those whose stores are clusters, in the order of the matrix.
func ClusterRows() []Row {
	return []Row{
		natsLeaderMovesAndQuorumIsLost(),
		postgresLosesItsTail(),
		slotMovesAndMasterDies(),
		oldAndNewFleets(),
		fleetIsReplaced(),
		StoresDieInTurn(),
	}
}

// Rows are all others, in the order of the matrix.
func Rows() []Row {
	return []Row{
		gatewayDiesBeforeHandOver(),
		gatewayDiesBeforeAnswer(),
		acknowledgementLost(),
		handOversRegrouped(),
		publishInFlightWhenSwept(),
		handOversRepeated(),
		workerDiesBeforeCommit(),
		workerDiesAfterCommit(),
		lateAcknowledgement(),
		redisRestartsEmpty(),
		redisComesBackOld(),
		gatewaysSleepThroughARebuild(),
		redisComesBackOldUnnoticed(),
		soldOutIsStale(),
		redisDoesNotAnswer(),
		releasesRepeated(),
		workerDiesWhileGivingBack(),
		expiryAgainstPayment(),
		webhookBeforeOrder(),
		webhookRepeated(),
		streamFull(),
		natsDiskFull(),
		natsRestarts(),
		natsLosesPower(),
		natsLosesPowerUnsynced(),
		postgresDown(),
		postgresPoolExhausted(),
		postgresSlow(),
		badReservations(),
		hostileRequests(),
		slowConnections(),
		somebodyElsesName(),
		nothingToSell(),
		unitsAddedAnswerLost(),
		unitsTakenThatAreHeld(),
		saleClosesWhileQueueDrains(),
		redisIsFull(),
		replyIsCut(),
		replyIsCutControl(),
		buyerTriesAgain(),
		oldAndNewPrograms(),
		gatewaysEndUnderLoad(),
		repairersBesideEachOther(),
		replicaIsCutOff(),
	}
}
