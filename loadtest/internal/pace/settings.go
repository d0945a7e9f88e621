package pace

import "fmt"

// beyond is a pace that nothing here reaches.
const beyond = 1_000_000

// fixed are a worker's settings that make it take whatever it gets with n consumers: no
// transaction is slow to it.
func fixed(consumers int) []string {
	return append(consumersOf(consumers), "SLUICE_PACE_TARGET=1m", fmt.Sprintf("SLUICE_PACE_FLOOR=%d", beyond), fmt.Sprintf("SLUICE_PACE_CEILING=%d", beyond))
}

func consumersOf(n int) []string { return []string{fmt.Sprintf("SLUICE_CONSUMERS=%d", n)} }

// paced are the settings of a worker that paces itself in throttle and shares.
func (c Config) paced() []string {
	if c.Target == 0 {
		return nil
	}
	return []string{fmt.Sprintf("SLUICE_PACE_TARGET=%s", c.Target)}
}
