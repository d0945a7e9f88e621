package slowclients

import (
	"bytes"
	"fmt"
	"time"
)

// Config is how large a measurement is.
type Config struct {
	Rounds      int           `json:"rounds"`
	Stage       time.Duration `json:"stage_ns"`    // of one measurement
	Connections int           `json:"connections"` // slow ones at a time
	Addresses   int           `json:"addresses"`   // that they come from, where they are many
	Kept        int           `json:"kept"`        // connections that honest clients keep
	PerSecond   int           `json:"per_second"`  // attempts of honest clients, nine of ten over those, one over a new one
}

// Full is the configuration whose figures mean something.
func Full(rounds int, stage time.Duration) Config {
	return Config{Rounds: rounds, Stage: stage, Connections: 10_000, Addresses: 200, Kept: 32, PerSecond: 400}
}

// Quick is a configuration that only shows who is refused and who is served.
func Quick() Config {
	return Config{Rounds: 1, Stage: 2 * time.Second, Connections: 300, Addresses: 100, Kept: 8, PerSecond: 100}
}

// usualPerAddress is how many connections of one address a gateway takes by default.
const usualPerAddress = 256

// GatewayEnv sets the gateway's limit of connections of one address, which stacks
// have off; a third of the slow ones from one are over it at least.
func (c Config) GatewayEnv() []string {
	return []string{fmt.Sprintf("SLUICE_MAX_CONNECTIONS_PER_ADDRESS=%d", min(usualPerAddress, c.Connections*2/3))}
}

const (
	saleID = "open"
	units  = 10_000_000 // which do not sell out
)

// SalesFile is the file with the sale that honest clients attempt, open at now.
func SalesFile(now time.Time) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "sales:\n  - {id: %s, total: %d, price: 100, opens_at: %s, closes_at: %s}\n", saleID, units,
		now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	return text.Bytes()
}
