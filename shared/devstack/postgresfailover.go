package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"
)

// CutStandby has the standby receive nothing more, and commits no longer wait for it: what
// is committed from here on is lost in a failover. Rejoin makes good again.
func (p *PostgresPair) CutStandby(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := p.SetSynchronous(ctx, false); err != nil {
		return err
	}
	if err := alterPostgres(ctx, p.Standby(), "primary_conninfo", ""); err != nil {
		return err
	}
	return p.awaitRow(ctx, p.Standby(), "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")
}

// Failover fences the primary, which may be dead or frozen, and makes the standby the
// primary. It commits without a standby until Rejoin.
func (p *PostgresPair) Failover(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := mustRun(p.Standby()); err != nil {
		return fmt.Errorf("cannot fail over: %w", err)
	}
	if p.isApart() {
		return fmt.Errorf("cannot fail over: %s lacks what the primary has", p.Standby().name)
	}
	if err := p.Primary().KillAll(); err != nil { // or both would take writes
		return fmt.Errorf("cannot fail over: the old primary is not fenced: %w", err)
	}
	return p.promote(ctx)
}

// PromoteBeside is Failover by somebody who cannot fence: the old primary, if it runs, goes
// on, and takes writes as before. With a synchronous standby none of them is acknowledged.
func (p *PostgresPair) PromoteBeside(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.promote(ctx)
}

// promote makes the standby the primary, and the other one the standby to be.
func (p *PostgresPair) promote(ctx context.Context) error {
	old, next := p.Primary(), p.Standby()
	if err := run(p.programs.runs(exec.CommandContext(ctx, p.programs.sibling("pg_ctl"), "promote", "--wait", "--pgdata="+next.data))); err != nil {
		return err
	}
	if err := p.awaitRow(ctx, next, "SELECT 1 WHERE NOT pg_is_in_recovery()"); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.primary, p.standby, p.apart = next, old, true
	return nil
}

func mustRun(s *Server) error {
	select {
	case <-s.Exited():
		return fmt.Errorf("%s has ended", s.name)
	default:
		return nil
	}
}

// Rejoin brings the other server back as a standby, from a new base backup of the primary,
// whatever it has that the primary has not, and has commits wait for it again.
func (p *PostgresPair) Rejoin(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.rejoin(ctx)
}

func (p *PostgresPair) rejoin(ctx context.Context) error {
	p.mu.Lock()
	primary, standby := p.primary, p.standby
	p.apart = true
	p.mu.Unlock()
	if err := p.SetSynchronous(ctx, false); err != nil { // nobody is to wait for the one that goes
		return err
	}
	if err := errors.Join(standby.KillAll(), standby.WipeData()); err != nil {
		return err
	}
	if err := p.backUp(ctx, primary, standby.name, standby.data); err != nil {
		return err
	}
	if err := standby.Restart(ctx); err != nil {
		return err
	}
	if err := p.SetSynchronous(ctx, true); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apart = false
	return nil
}

func (p *PostgresPair) isApart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.apart
}

// mendStandby starts a standby again that has ended, for which commits wait, and has one
// rejoin that is apart: an old primary must not come back as it was.
func (p *PostgresPair) mendStandby(ctx context.Context, log *slog.Logger) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	standby := p.Standby()
	if p.isApart() {
		log.WarnContext(ctx, "postgres has no standby, one is made", "server", standby.name)
		return p.rejoin(ctx)
	}
	if mustRun(standby) == nil {
		return nil
	}
	log.WarnContext(ctx, "postgres standby is gone, it is started again", "server", standby.name)
	return standby.Restart(ctx)
}

// How often a supervisor asks the primary, and for how long it waits for the answer.
const (
	superviseEvery  = 200 * time.Millisecond
	superviseWithin = time.Second
)

// Supervise asks the primary again and again and, once it has not answered for gone, fails
// over and brings the old primary back as a standby, until ctx ends. A primary that refuses
// is there: it starts, or has too many connections. A standby that has ended is started
// again, and one that could not rejoin tries again. told, which may be nil, hears of every
// failover once the new primary takes writes: how long that took from the last answer of the
// old one.
func (p *PostgresPair) Supervise(ctx context.Context, gone time.Duration, log *slog.Logger, told func(took time.Duration)) {
	ticker := time.NewTicker(superviseEvery)
	defer ticker.Stop()
	answered := time.Now()
	for {
		switch err := p.askPrimary(ctx); {
		case err == nil:
			answered = time.Now()
			if err := p.mendStandby(ctx, log); err != nil {
				log.ErrorContext(ctx, "postgres standby is not back", "error", err)
			}
		case ctx.Err() == nil && time.Since(answered) >= gone:
			log.ErrorContext(ctx, "postgres primary is gone", "server", p.Primary().name, "error", err)
			if p.replace(ctx, log, answered, told) {
				answered = time.Now()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *PostgresPair) askPrimary(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, superviseWithin)
	defer cancel()
	err := probePostgres(ctx, p.Primary().port.Addr())
	if errors.As(err, new(*postgresError)) {
		return nil
	}
	return err
}

// replace reports whether there is a primary again.
func (p *PostgresPair) replace(ctx context.Context, log *slog.Logger, answered time.Time, told func(time.Duration)) bool {
	if err := p.Failover(ctx); err != nil {
		log.ErrorContext(ctx, "postgres failover failed", "error", err)
		return false
	}
	took := time.Since(answered)
	log.InfoContext(ctx, "postgres standby is the primary", "server", p.Primary().name, "took", took)
	if told != nil {
		told(took)
	}
	return true // what is left of the old primary rejoins next
}
