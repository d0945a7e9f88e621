package campaign

import (
	"context"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// funnelRead is what one gateway has counted since it started.
type funnelRead struct {
	url    string
	pid    int
	layers map[string]report.Layer
}

func readFunnels(ctx context.Context, info stack.Info) ([]funnelRead, error) {
	reads := make([]funnelRead, len(info.Gateways))
	for i, g := range info.Gateways {
		layers, err := collect.Funnel(ctx, []string{g.OpsURL})
		if err != nil {
			return nil, err
		}
		reads[i] = funnelRead{url: g.OpsURL, pid: g.PID, layers: layers}
	}
	return reads, nil
}

// funnelSince adds up what gateways counted since before. What one counted that was
// started again meanwhile is lost; restarted has its URL.
func funnelSince(before, now []funnelRead) (sum map[string]report.Layer, restarted []string) {
	sum = make(map[string]report.Layer)
	for _, n := range now {
		var old map[string]report.Layer
		for _, b := range before {
			switch {
			case b.url == n.url && b.pid == n.pid:
				old = b.layers
			case b.url == n.url:
				restarted = append(restarted, n.url)
			}
		}
		addSince(sum, old, n.layers)
	}
	return sum, restarted
}

func addSince(sum, old, now map[string]report.Layer) {
	for name, layer := range now {
		into := sum[name]
		into.Entered += layer.Entered - old[name].Entered
		if into.Exits == nil {
			into.Exits = make(map[string]int64)
		}
		for exit, n := range layer.Exits {
			into.Exits[exit] += n - old[name].Exits[exit]
		}
		sum[name] = into
	}
}
