package costs

import (
	"fmt"
	"log/slog"
	"time"

	"sluice/loadtest/internal/capacity"
)

// Config is how much is measured.
type Config struct {
	Rounds      int             `json:"rounds"`
	Stage       time.Duration   `json:"stage_ns"`    // of refusals, scripts, polls and rest
	Connections int             `json:"connections"` // of all gateways together; a multiple of 16
	Attempts    int             `json:"attempts"`    // of a rush, and of the backlog
	Sales       int             `json:"sales"`       // that are sold in turn
	Sizes       []int           `json:"sizes"`       // gateways, and as many workers, that are predicted
	Demand      capacity.Demand `json:"demand"`      // that is answered in the end
}

// Full is the configuration whose figures mean something.
func Full(rounds int) Config {
	return Config{Rounds: rounds, Stage: 3 * time.Second, Connections: 512, Attempts: 60_000, Sales: 4, Sizes: []int{2, 4}, Demand: capacity.Internet()}
}

// Quick only shows that everything still runs.
func Quick() Config {
	return Config{Rounds: 1, Stage: 300 * time.Millisecond, Connections: 32, Attempts: 2_000, Sales: 2, Sizes: []int{2}, Demand: capacity.Internet()}
}

// Check refuses what cannot be measured.
func (c Config) Check() error {
	if c.Rounds < 1 || c.Stage <= 0 || c.Sales < 1 || c.Attempts < 100 {
		return fmt.Errorf("cannot measure costs: rounds, sales and the time of a stage must be above 0, attempts at least 100")
	}
	if c.Connections < 16 || c.Connections%16 != 0 {
		return fmt.Errorf("cannot measure costs: connections must be a multiple of 16, are %d: a quarter of them is shared by up to 4 gateways", c.Connections)
	}
	return nil
}

// Site is where a run finds its programs and leaves what it wrote.
type Site struct {
	Out string // a directory for every stack is made in it
	Bin string
	Log *slog.Logger
}
