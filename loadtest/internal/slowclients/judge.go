package slowclients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"sluice/loadtest/internal/report"
)

// mostRatio is the promise: p99 of honest clients, of that of the same round's quiet
// stage.
const mostRatio = 2

// judge holds the medians against the promise. A quick measurement promises nothing.
func (r *run) judge() {
	r.rep.Ratios = report.Spreads(r.rounds)
	for _, p := range []report.Promise{
		{Name: many + "_p99_vs_quiet", Text: "slow clients from many addresses: p99 of honest ones, of that without"},
		{Name: one + "_p99_vs_quiet", Text: "slow clients from one address: p99 of honest ones, of that without"},
	} {
		if r.Rounds < 2 {
			return
		}
		p.Bound = mostRatio
		p = p.Judge(r.rep.Ratios[p.Name].Median)
		r.rep.Promises = append(r.rep.Promises, p)
		if !p.Tolerated {
			r.rep.Fail("I12", "%s is %.2f, promised is %d", p.Text, p.Figure, mostRatio)
		}
	}
}

// gatewayFigures are what the gateway says of its connections.
func (r *run) gatewayFigures(ctx context.Context, s scene, f map[string]float64) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Stack.Gateways[0].OpsURL+"/metrics", nil)
	if err != nil {
		return fmt.Errorf("cannot read metrics: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("cannot read metrics: %w", err)
	}
	defer res.Body.Close() // it is only read
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		figure, wanted := map[string]string{
			"sluice_connections": "_connections", "process_resident_memory_bytes": "_gateway_bytes", "sluice_connections_cut_total": "_cut_so_far",
		}[name]
		if !wanted {
			continue
		}
		if f[s.name+figure], err = strconv.ParseFloat(value, 64); err != nil {
			return fmt.Errorf("cannot read metric %s: %w", name, err)
		}
	}
	return nil
}

// notes say how the figures came about.
var notes = []string{
	"Everything shares one machine over loopback. Honest clients are an open loop: a latency counts from when the attempt was due; nine of ten come over connections that are kept, one over a new one (new). Every attempt is answered 202, by a gateway, Redis and a stream that syncs.",
	"Slow clients have the lowest priority on this machine: elsewhere they have their own. They come back after they are cut or refused, so that each begins a connection every five seconds. A third says nothing, a third trickles its header and a third its body, a byte a second; one in fifty does not read.",
	"The verdict is about who is served: every honest attempt is answered 202, and no promise is missed by more than a factor of three.",
}

// Print writes what was measured, and what to know about it.
func Print(w io.Writer, rep report.Report) error { return rep.PrintMeasured(w, notes) }
