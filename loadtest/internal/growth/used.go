package growth

import (
	"time"

	"sluice/loadtest/internal/usage"
)

// used is the CPU time of the programs of a stack, those of one kind together.
type used map[string]time.Duration

// Kinds of programs.
const (
	gateways = "gateways"
	workers  = "workers"
	redis    = "redis"
	nats     = "nats"
	postgres = "postgres"
)

func (t *site) used() (u used, err error) {
	u = make(used)
	for kind, pids := range t.pids() {
		for _, pid := range pids {
			spent, err := usage.CPU(pid)
			if err != nil {
				return nil, err
			}
			u[kind] += spent
		}
	}
	u[postgres], err = usage.Family(t.info.Postgres.PID)
	return u, err
}

// pids are those of the programs that are one process each.
func (t *site) pids() map[string][]int {
	all := map[string][]int{redis: {t.info.Redis.PID}, nats: {t.info.NATS.PID}}
	for _, g := range t.info.Gateways {
		all[gateways] = append(all[gateways], g.PID)
	}
	for _, w := range t.info.Workers {
		all[workers] = append(all[workers], w.PID)
	}
	return all
}

// since is what was used from before until now, of each and of all together.
func (u used) since(before used) (each map[string]time.Duration, all time.Duration) {
	each = make(map[string]time.Duration)
	for kind := range u {
		each[kind] = u[kind] - before[kind]
		all += each[kind]
	}
	return each, all
}

// memory notes how much one process of each kind holds: the largest.
func (t *site) memory(s setting, f figures) error {
	for kind, pids := range t.pids() {
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
