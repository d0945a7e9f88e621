package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoDisk says that this machine cannot mount a disk: it lets nobody, or not this
// user, mount, or have loop devices. A missing program is another error: setup installs it.
var ErrNoDisk = errors.New("cannot mount a disk of its own")

// Disk is an ext4 file system of its own, in a file behind a loop device, which can
// lose its power: what was not synced is gone then. A copy of a directory would show
// the kernel's unsynced pages too, and a killed process loses none of them.
type Disk struct {
	image string // the file
	dir   string // where it is mounted
}

// MountDisk makes a disk of some megabytes below parent, which must exist. It needs
// root and loop devices, else the error is ErrNoDisk, and e2fsprogs.
func MountDisk(parent string, megabytes int) (*Disk, error) {
	if err := diskNeeds(); err != nil {
		return nil, err
	}
	d := &Disk{image: filepath.Join(parent, "disk.img"), dir: filepath.Join(parent, "disk")}
	if err := mountPoint(d.dir); err != nil {
		return nil, err
	}
	if err := run(exec.Command("truncate", "-s", fmt.Sprintf("%dM", megabytes), d.image)); err != nil {
		return nil, err
	}
	if err := run(exec.Command("mkfs.ext4", "-q", "-F", d.image)); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil { // a container's root may not
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoDisk, err), os.Remove(d.image), os.Remove(d.dir))
	}
	return d, nil
}

// diskNeeds names what is missing.
func diskNeeds() error {
	if err := mountNeeds(); err != nil {
		return err
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("%w: there are no loop devices here: %w", ErrNoDisk, err)
	}
	for _, program := range []string{"mkfs.ext4", "losetup"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not on the PATH: run 'make setup', or install it (Debian: apt-get install e2fsprogs mount)", program)
		}
	}
	return nil
}

// mount also replays the journal. The long commit interval keeps the kernel from
// writing by itself what nobody synced, which a power failure would take.
func (d *Disk) mount() error {
	return run(exec.Command("mount", "-o", "loop,commit=600,noatime", d.image, d.dir))
}

// Dir returns where the disk is mounted, for Options.Dir of a server.
func (d *Disk) Dir() string { return d.dir }

// Sync writes everything that is on the disk now, such as a server's configuration.
func (d *Disk) Sync() error { return run(exec.Command("sync", "-f", d.dir)) }

// LosePower kills what runs on the disk, by kill, and brings the disk back as it was
// at that moment, without anything that was not synced.
func (d *Disk) LosePower(kill func() error) error {
	if err := kill(); err != nil {
		return err
	}
	asItWas := d.image + ".copy"
	if err := run(exec.Command("cp", "--sparse=always", d.image, asItWas)); err != nil {
		return err
	}
	if err := d.unmount(); err != nil { // writes the rest to the image, which is given up
		return err
	}
	if err := os.Rename(asItWas, d.image); err != nil {
		return fmt.Errorf("cannot bring the disk back: %w", err)
	}
	return d.mount()
}

func (d *Disk) unmount() error { return run(exec.Command("umount", d.dir)) }

// Close unmounts the disk and removes it. Its servers must have ended.
func (d *Disk) Close() error {
	return errors.Join(d.unmount(), os.Remove(d.image), os.Remove(d.dir))
}
