package report

import (
	"fmt"
	"time"
)

// Setup is how a run came about, for what it therefore cannot show.
type Setup struct {
	Rounds            int // 0 is one
	Gateways, Workers int
	Load              time.Duration // for which attempts were sent; 0 says nothing of it
	Connections       int           // that buyers shared, to each gateway; 0: each had its own
	Faults            bool          // processes were killed or cut off
	Lifecycle         bool          // orders were paid, or not in time
	AddressLimits     bool          // they were on, or who knows: the stack was somebody else's
	Remote            bool          // the gateways were reached by more than loopback
	TLS               bool          // they were reached by https
}

// Leave notes what a reader might take for measured and was not.
func (r *Report) Leave(s Setup) {
	leave := func(really bool, format string, args ...any) {
		if really {
			r.NotMeasured = append(r.NotMeasured, fmt.Sprintf(format, args...))
		}
	}
	leave(!s.Remote, "The network: everything talked over loopback, so no time is a buyer's way to the gateway or a gateway's to a store.")
	leave(!s.TLS, "TLS: connections were plain HTTP and plain TCP.")
	leave(!s.Remote, "Several machines: %s, the stores and the tool shared %s. What they would reach apart does not follow from this.",
		s.programs(), many(int64(max(1, r.Machine.CPUs)), "core", "cores"))
	leave(!s.Remote, "Replicas: Redis, NATS and Postgres were one process each; a replica that must acknowledge takes its time too.")
	leave(!s.Remote, "Other disks: a commit and a hand-over wait for this machine's disk.")
	leave(s.Rounds <= 1, "Repeats: there was one round. How much its figures vary was not seen.")
	leave(s.Load > 0, "Longer loads: attempts were sent for %s. What grows over hours was not seen.", roundish(s.Load))
	leave(s.Connections > 0, "A connection for each buyer: %s to each gateway were shared.", many(int64(s.Connections), "connection", "connections"))
	leave(!s.Faults, "Faults: nothing was killed or cut off.")
	leave(!s.Lifecycle, "What comes after the order: nothing was paid, expired, cancelled or refunded.")
	leave(!s.AddressLimits, "Limits by address: all buyers have one address here, so they were off.")
}

func (s Setup) programs() string {
	return many(int64(s.Gateways), "gateway", "gateways") + ", " + many(int64(s.Workers), "worker", "workers")
}

// roundish is a duration that nobody would take for exact.
func roundish(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
