package growth

import (
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/usage"
)

// Kinds of programs.
const (
	gateways = collect.Gateways
	workers  = collect.Workers
	redis    = collect.Redis
	nats     = collect.NATS
	postgres = collect.Postgres
)

func (t *site) used() (collect.ByKind, error) { return collect.UsedByKind(t.Info) }

// memory notes how much one process of each kind holds: the largest.
func (t *site) memory(s setting, f figures) error {
	for kind, pids := range collect.PIDs(t.Info) {
		for _, pid := range pids {
			mb, err := usage.ResidentMB(pid)
			if err != nil {
				return err
			}
			name := s.figure("mb_" + kind)
			f[name] = max(f[name], mb)
		}
	}
	return nil
}
