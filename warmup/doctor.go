package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"sluice/shared/service"
	"sluice/warmup/internal/doctor"
)

// maxMonitorBytes is far above what a server's /varz says.
const maxMonitorBytes = 1 << 20

func runDoctor(ctx context.Context, in input) error {
	var f storeFlags
	var require, monitors string
	fs := newFlags(in, "doctor", "")
	f.register(fs)
	fs.StringVar(&require, "require", "dev", "`level` that must be earned: dev, single or ha")
	fs.StringVar(&monitors, "nats-monitor", "", "`URLs` of the NATS servers' monitoring, separated by commas: only that says whether they sync")
	if err := service.Parse(fs, in.args, in.getenv); err != nil {
		return err
	}
	level, err := doctor.ParseLevel(require)
	if err != nil {
		return service.UsageErrorf("-require (%s) %v", service.Variable("require"), err)
	}
	for _, base := range splitList(monitors) {
		if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return service.UsageErrorf("-nats-monitor (%s): %q is not a URL such as http://127.0.0.1:8222", service.Variable("nats-monitor"), base)
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	s, err := openStores(ctx, in, f)
	if err != nil {
		return err
	}
	defer s.close()
	facts, err := s.facts(ctx, splitList(monitors))
	if err != nil {
		return err
	}
	return report(in.stdout, doctor.Examine(facts), level)
}

// facts asks the stores. What only one check needs may fail: the check says so.
func (s *stores) facts(ctx context.Context, monitors []string) (f doctor.Facts, err error) {
	f.Skew = map[string]time.Duration{}
	if f.Redis, err = s.redis.Settings(ctx); err != nil {
		return f, err
	}
	f.Scripts = s.redis.CheckScripts(ctx)
	asked := time.Now()
	if f.Postgres, err = s.postgres.Settings(ctx); err != nil {
		return f, err
	}
	f.Skew["postgres"] = doctor.Skew(f.Postgres.Now, asked, time.Now())
	f.Schema = s.postgres.CheckSchema(ctx)
	if f.NATS, err = s.queue.Settings(ctx); err != nil {
		return f, err
	}
	f.Servers, f.Silent, err = askMonitors(ctx, monitors)
	return f, err
}

// monitorWithin is how long a NATS server's monitoring may take to answer.
const monitorWithin = 3 * time.Second

// askMonitors asks the monitoring of NATS servers, of all at once. That one is away is a
// finding; that all are is an error.
func askMonitors(ctx context.Context, monitors []string) (servers []doctor.NATSServer, silent []error, err error) {
	ctx, cancel := context.WithTimeout(ctx, monitorWithin)
	defer cancel()
	answers, errs := make([]doctor.NATSServer, len(monitors)), make([]error, len(monitors))
	var asking sync.WaitGroup
	for i, base := range monitors {
		asking.Go(func() { answers[i], errs[i] = monitor(ctx, base) })
	}
	asking.Wait()
	for i, err := range errs {
		if err != nil {
			silent = append(silent, err)
			continue
		}
		servers = append(servers, answers[i])
	}
	if len(servers) == 0 {
		return nil, silent, errors.Join(silent...)
	}
	return servers, silent, nil
}

// monitor reads what a NATS server's monitoring says.
func monitor(ctx context.Context, base string) (doctor.NATSServer, error) {
	address := strings.TrimRight(base, "/") + "/varz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return doctor.NATSServer{}, fmt.Errorf("cannot ask %s: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return doctor.NATSServer{}, fmt.Errorf("%s does not answer: %w", address, bare(err))
	}
	defer response.Body.Close()
	var varz struct {
		ServerName string `json:"server_name"`
		JetStream  struct {
			Config *struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if response.StatusCode != http.StatusOK {
		return doctor.NATSServer{}, fmt.Errorf("%s answers %s", address, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxMonitorBytes)).Decode(&varz); err != nil {
		return doctor.NATSServer{}, fmt.Errorf("cannot read %s: %w", address, err)
	}
	if varz.JetStream.Config == nil {
		return doctor.NATSServer{}, fmt.Errorf("%s says nothing of JetStream", address)
	}
	return doctor.NATSServer{Name: varz.ServerName, SyncAlways: varz.JetStream.Config.SyncAlways}, nil
}

// report prints every check, the level earned and what the next one lacks. It returns
// an error when required is not earned.
func report(w io.Writer, checks []doctor.Check, required doctor.Level) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STORE\tCHECK\tNEEDED FOR\tRESULT\tFOUND")
	for _, c := range checks {
		needed, result := c.Level.String(), "pass"
		switch {
		case c.Level == doctor.None:
			needed, result = "-", "remark"
		case !c.Pass:
			result = "FAIL"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Store, c.Name, needed, result, c.Found)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	earned := doctor.Earned(checks)
	fmt.Fprintf(w, "\nlevel: %s\n", earned)
	if missing := doctor.Missing(checks, earned); len(missing) > 0 {
		fmt.Fprintf(w, "missing for %s:\n", earned+1)
		for _, c := range missing {
			fmt.Fprintf(w, "  %s %s: %s\n", c.Store, c.Name, c.Missing)
		}
	}
	if earned < required {
		return fmt.Errorf("the stores earn level %s, %s is required", earned, required)
	}
	return nil
}
