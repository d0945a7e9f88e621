package chaos

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sluice/loadtest/internal/report"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// Disks that JetStream's data may be on.
const (
	smallDisk = "small" // can be full
	powerDisk = "power" // can lose its power
)

const (
	smallMegabytes = 64
	powerMegabytes = 256
)

// disks has the one that a row needs.
type disks struct {
	small *devstack.SmallDisk
	power *devstack.Disk
	store string // directory for JetStream's data; "" when any will do
}

// mountDisks mounts what is needed below a directory, which it makes.
func mountDisks(kind, dir string) (d disks, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return d, fmt.Errorf("cannot make directory for a stack: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, fmt.Errorf("cannot make directory for a stack: %w", err)
	}
	var at string
	switch kind {
	case smallDisk:
		small, err := devstack.MountSmallDisk(dir, smallMegabytes)
		if err != nil {
			return d, err
		}
		d.small, at = small, small.Dir()
	case powerDisk:
		power, err := devstack.MountDisk(dir, powerMegabytes)
		if err != nil {
			return d, err
		}
		d.power, at = power, power.Dir()
	default:
		return d, nil
	}
	d.store = filepath.Join(at, "jetstream")
	if err := os.Mkdir(d.store, 0o755); err != nil {
		return d, errors.Join(fmt.Errorf("cannot make directory for JetStream: %w", err), d.close())
	}
	return d, nil
}

func (d disks) close() error {
	switch {
	case d.small != nil:
		return d.small.Close()
	case d.power != nil:
		return d.power.Close()
	default:
		return nil
	}
}

// notRun says of every round of rows that this machine lacks what they need.
func notRun(rows []Row, seed uint64, why error, out io.Writer) (all []report.Fault) {
	for _, row := range rows {
		r := newRound(row, seed, nil, nil, "", 0)
		f := r.fault()
		f.Violations = []sale.Violation{} // nor has it shown, if it is a control, what it must
		f.NotRun, f.Pass = fmt.Sprintf("%v; run it as root of a machine that lets one mount disks, or leave it out: -except %s", why, row.ID), false
		all = append(all, f)
		progress(out, all)
	}
	return all
}
