package chaos

import (
	"context"
	"errors"
	"time"

	"sluice/shared/devstack"
)

// natsDiskFull: JetStream cannot write, and says nothing to whoever waits for it.
func natsDiskFull() Row {
	return Row{
		ID: "21", Name: "nats-disk-full", Bound: 20 * time.Second, Stack: Needs{Disk: smallDisk},
		Fault:  "the disk of NATS is full until there is room again; nats-server is started again whenever its health check fails, once before and once after that",
		Expect: "503 with the ticket, never 202; what is listed is handed over once it can be written",
		Run: func(ctx context.Context, r *Round) (err error) {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			r.inject()
			defer func() { // a NATS that could not write does not by itself, and other rounds want it
				if err != nil {
					err = errors.Join(err, r.stack.Restart(context.WithoutCancel(ctx), "nats", (*devstack.Server).Stop, r.free))
				}
			}()
			// Whoever watches its health check starts it again before there is room, too.
			for _, room := range []func(*devstack.Server) error{asItIs, r.free} {
				if err := r.meetFullDisk(ctx); err != nil {
					return err
				}
				if err := r.stack.Restart(ctx, "nats", (*devstack.Server).Stop, room); err != nil {
					return err
				}
			}
			r.heal()
			return r.recovered(ctx)
		},
	}
}

// meetFullDisk fills the disk, and has attempts meet it once a write has failed: a server
// that was started again may find a little room.
func (r *Round) meetFullDisk(ctx context.Context) error {
	if err := r.disks.small.Fill(); err != nil {
		return err
	}
	var why string
	var failed error
	err := r.until(ctx, hitPatience, "a write fails", func() bool {
		why, failed = r.stack.NATSUnwell(ctx)
		return failed != nil || why != ""
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	n, err := r.refused(ctx, 60)
	if err != nil {
		return err
	}
	r.hit(int(n), "%d attempts met a full disk; its health check said %s", n, why)
	return nil
}

// free makes room while NATS is down.
func (r *Round) free(*devstack.Server) error { return r.disks.small.Free() }

// asItIs leaves a store's data alone.
func asItIs(*devstack.Server) error { return nil }
