package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// AddGateways starts more gateways, all at once, and returns where they are as soon as
// their processes run: they are not ready yet, and a sale may be going on. From there on they
// are supervised and in Info, like those of the start. It is for one caller at a time.
func (s *Stack) AddGateways(ctx context.Context, n int) ([]GatewayInfo, error) {
	first := len(s.allGateways())
	if first+n > maxProcesses {
		return nil, fmt.Errorf("cannot add %d gateways: the stack has %d of %d", n, first, maxProcesses)
	}
	added := make([]*child, n)
	for i := range added {
		added[i] = s.newChild("gateway", first+i, gatewayGrace, s.gatewayInfo().gatewayEnv(s.ticketKey, s.config.Drain))
		added[i].set(s.config.GatewaySettings)
		if err := added[i].reserve(); err != nil {
			return nil, errors.Join(err, closeAll(added[:i+1]))
		}
	}
	infos := make([]GatewayInfo, n)
	for i, c := range added {
		if err := c.Restart(ctx); err != nil {
			return nil, errors.Join(err, closeAll(added))
		}
		infos[i] = GatewayInfo{URL: c.url(), OpsURL: c.opsURL(), PID: c.PID()}
	}
	s.growing.Lock()
	s.gateways = append(s.gateways, added...)
	s.growing.Unlock()
	for _, c := range added {
		s.watch(c.name, c)
	}
	return infos, s.announce()
}

func (s *Stack) allGateways() []*child {
	s.growing.RLock()
	defer s.growing.RUnlock()
	return slices.Clone(s.gateways)
}
