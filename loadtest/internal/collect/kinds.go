package collect

import (
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/usage"
)

// Kinds of programs of a stack.
const (
	Gateways = "gateways"
	Workers  = "workers"
	Redis    = "redis"
	NATS     = "nats"
	Postgres = "postgres"
)

// ByKind is the CPU time of the programs of a stack, those of one kind together.
type ByKind map[string]time.Duration

// UsedByKind is what they have used so far.
func UsedByKind(info stack.Info) (u ByKind, err error) {
	u = make(ByKind)
	for kind, pids := range PIDs(info) {
		for _, pid := range pids {
			spent, err := usage.CPU(pid)
			if err != nil {
				return nil, err
			}
			u[kind] += spent
		}
	}
	u[Postgres], err = usage.Family(info.Postgres.PID)
	return u, err
}

// PIDs are those of the programs that are one process each: all but Postgres.
func PIDs(info stack.Info) map[string][]int {
	all := map[string][]int{Redis: {info.Redis.PID}, NATS: {info.NATS.PID}}
	for _, g := range info.Gateways {
		all[Gateways] = append(all[Gateways], g.PID)
	}
	for _, w := range info.Workers {
		all[Workers] = append(all[Workers], w.PID)
	}
	return all
}

// Since is what was used from before until now, of each and of all together.
func (u ByKind) Since(before ByKind) (each ByKind, all time.Duration) {
	each = make(ByKind)
	for kind := range u {
		each[kind] = u[kind] - before[kind]
		all += each[kind]
	}
	return each, all
}
