package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

func childName(role string, index int) string { return role + "-" + strconv.Itoa(index) }

// startChildren starts gateways and workers. Those started before an error are
// in s, for Close.
func (s *Stack) startChildren(ctx context.Context) error {
	info, gatewayInfo := s.proxiedInfo(), s.gatewayInfo() // before there are children without ports
	for i := range s.config.Gateways {
		c := s.newChild("gateway", i, gatewayGrace, gatewayInfo.gatewayEnv(s.ticketKey, s.config.Drain))
		c.set(s.config.GatewaySettings)
		s.gateways = append(s.gateways, c)
	}
	for i := range s.config.Workers {
		c := s.newChild("worker", i, workerGrace, info.workerEnv())
		c.set(s.config.WorkerSettings)
		s.workers = append(s.workers, c)
	}
	for _, c := range s.children() {
		if err := c.reserve(); err != nil {
			return err
		}
	}
	if s.config.LocalShop {
		for _, c := range s.gateways {
			c.env = append(c.env, s.localShopEnv()...)
		}
	}
	for _, c := range s.children() {
		if err := c.Restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

// localShopEnv has a gateway's page report payments to the workers that were there first.
func (s *Stack) localShopEnv() []string {
	urls := make([]string, len(s.workers))
	for i, c := range s.workers {
		urls[i] = c.url()
	}
	return []string{"SLUICE_LOCAL_SHOP_WORKERS=" + strings.Join(urls, ","), "SLUICE_LOCAL_SHOP_WEBHOOK_KEY=" + s.secrets.Webhook}
}

func (s *Stack) newChild(role string, index int, grace time.Duration, env []string) *child {
	name := childName(role, index)
	return &child{
		name:     name,
		path:     filepath.Join(s.config.BinDir, role),
		env:      append(childEnv(), env...),
		firstEnv: s.config.FirstEnv[name],
		logPath:  filepath.Join(s.logDir(), name+".log"),
		grace:    grace,
	}
}

func (s *Stack) children() []*child {
	return append(append([]*child{}, s.gateways...), s.workers...)
}

// awaitAll waits until all children are ready and all gateways have every sale.
func (s *Stack) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	children := s.children()
	errs := make([]error, len(children))
	var wait sync.WaitGroup
	for i, c := range children {
		wait.Go(func() {
			if errs[i] = c.awaitFirst(ctx); errs[i] != nil {
				cancel() // the others need not go on
			}
		})
	}
	wait.Wait()
	if err := firstCause(errs); err != nil {
		return err
	}
	ops := make([]string, len(s.gateways))
	for i, c := range s.gateways {
		ops[i] = c.opsURL()
	}
	return s.warmup(ctx, "wait", "-gateways", strings.Join(ops, ","))
}

// firstCause prefers an error that is not just another's cancellation.
func firstCause(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// awaitFirst waits until the child's first run is ready; that it ends is an error.
func (c *child) awaitFirst(ctx context.Context) error {
	err := poll(ctx, func() error {
		select {
		case <-c.Exited():
			return endedError{fmt.Errorf("%s ended while starting (%s): %s", c.name, c.current().Status(), lastLine(c.logPath))}
		default:
			return c.ready(ctx)
		}
	})
	if err != nil && !errors.As(err, new(endedError)) {
		return fmt.Errorf("%w; see %s", err, c.logPath)
	}
	return err
}

// endedError stops a poll: trying again is no use.
type endedError struct{ error }

// poll calls try until it returns nil or an endedError, or ctx ends; then the last
// error is returned.
func poll(ctx context.Context, try func() error) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil || errors.As(err, new(endedError)) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
