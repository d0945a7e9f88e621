package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
)

// natsLeaderMovesAndQuorumIsLost: one server may go, two may not.
func natsLeaderMovesAndQuorumIsLost() Row {
	return Row{
		ID: "22c", Name: "nats-without-quorum", Bound: 20 * time.Second, Stack: clustered,
		Fault:  "three NATS servers: the leader of the stream of hand-overs steps down; then two of the three are killed, and come back",
		Expect: "with another leader the sale goes on; without quorum 503 with the ticket, never 202; what is listed is handed over afterwards",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, clusterUnits, clusterRate); err != nil {
				return err
			}
			r.inject()
			if err := r.moveLeader(ctx); err != nil {
				return err
			}
			if err := r.loseQuorum(ctx); err != nil {
				return err
			}
			return r.goesOnAfter(ctx)
		},
	}
}

func (r *Round) moveLeader(ctx context.Context) error {
	cluster := r.stack.Cluster().NATS
	leader, err := r.natsLeader(ctx)
	if err != nil {
		return err
	}
	if err := cluster.StepDown(ctx, jetqueue.StreamName); err != nil {
		return err
	}
	if err := r.takeOver(ctx, "another server leads", leader, r.natsLeader); err != nil {
		return err
	}
	r.hit(1, "the leader stepped down, and another led")
	return r.goesOnAfter(ctx)
}

// loseQuorum kills the leader and one other server, and brings them back once attempts have
// met that.
func (r *Round) loseQuorum(ctx context.Context) error {
	leader, err := r.natsLeader(ctx)
	if err != nil {
		return err
	}
	dead := []*devstack.Server{leader}
	for _, s := range r.stack.Cluster().NATS.Servers() {
		if s != leader && len(dead) < 2 {
			dead = append(dead, s)
		}
	}
	var starts []func(context.Context) error
	var failed error
	for _, s := range dead {
		start, err := r.stack.HoldDown(s)
		if err != nil {
			failed = err
			break
		}
		starts = append(starts, start)
	}
	var refused int64
	if failed == nil {
		refused, failed = r.refused(ctx, 20)
	}
	if err := errors.Join(failed, startAll(context.WithoutCancel(ctx), starts)); err != nil {
		return fmt.Errorf("without quorum: %w", err)
	}
	r.hit(int(refused), "%d attempts were answered 503 with their tickets by a NATS without quorum", refused)
	return nil
}

// startAll starts servers at the same time: one alone is not ready without another.
func startAll(ctx context.Context, starts []func(context.Context) error) error {
	started := make(chan error, len(starts))
	for _, start := range starts {
		go func() { started <- start(ctx) }()
	}
	var errs []error
	for range starts {
		errs = append(errs, <-started)
	}
	return errors.Join(errs...)
}
