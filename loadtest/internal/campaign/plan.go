package campaign

import (
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/record"
)

// plan is what one sender is told, on its stdin. A second document, start, follows once
// all senders are ready; the end of stdin ends the sending.
type plan struct {
	Mix         mix.Mix              `json:"mix"`
	Arrivals    pacer.Arrivals       `json:"arrivals"`
	First       int                  `json:"first"`
	Part        int                  `json:"part"` // this sender's place among Parts
	Parts       int                  `json:"parts"`
	Connections int                  `json:"connections"`
	Timeout     time.Duration        `json:"timeout_ns"`
	Gateways    []string             `json:"gateways"` // URLs
	JWT         jwtSecrets           `json:"jwt"`
	OpensAt     map[string]time.Time `json:"opens_at"`
	Winners     int                  `json:"winners"`   // most to keep
	Followers   int                  `json:"followers"` // most tickets followed at a time
}

type jwtSecrets struct {
	Key      string `json:"key"`
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
}

type start struct {
	At time.Time `json:"at"`
}

// message is what a sender says, one of its members at a time.
type message struct {
	Ready    bool      `json:"ready,omitempty"`
	Progress *progress `json:"progress,omitempty"` // each second
	Sent     *progress `json:"sent,omitempty"`     // the last attempt is answered
	Result   *result   `json:"result,omitempty"`   // the end
}

// progress is what a sender has counted so far.
type progress struct {
	Sent     int            `json:"sent"`
	Counts   map[string]int `json:"counts"` // answers by class
	Fault    string         `json:"fault,omitempty"`
	Followed int            `json:"followed"` // tickets with an outcome
	Firsts   int            `json:"firsts"`   // of Sent, those that repeat none
}

// result is all that a sender found.
type result struct {
	progress
	Latency    record.Exported `json:"latency"`
	Steps      record.Exported `json:"steps"`
	StepBy     []stepTally     `json:"step_by"` // outcomes and lateness
	Late       attack.Lateness `json:"late"`
	Winners    []Winner        `json:"winners"`
	Unrecorded int             `json:"unrecorded"`
	Follows    Follows         `json:"follows"`
	CPUSeconds float64         `json:"cpu_seconds"`
	ResidentMB float64         `json:"resident_mb"`
}
