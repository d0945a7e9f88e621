package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// SmallDisk is a file system of its own in memory, which can be full.
type SmallDisk struct{ dir string }

// MountSmallDisk makes a disk of some megabytes below parent, which must exist. It needs
// root, else the error is ErrNoDisk.
func MountSmallDisk(parent string, megabytes int) (*SmallDisk, error) {
	if err := mountNeeds(); err != nil {
		return nil, err
	}
	d := &SmallDisk{dir: filepath.Join(parent, "smalldisk")}
	if err := mountPoint(d.dir); err != nil {
		return nil, err
	}
	if err := run(exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", megabytes), "tmpfs", d.dir)); err != nil { // a container's root may not
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoDisk, err), os.Remove(d.dir))
	}
	return d, nil
}

// Dir returns where the disk is mounted.
func (d *SmallDisk) Dir() string { return d.dir }

// Fill writes a file until the disk has no room for another byte.
func (d *SmallDisk) Fill() error {
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot fill a disk: %w", err)
	}
	defer f.Close() // what it could not write is the point
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			return fmt.Errorf("cannot fill a disk: %w", err)
		}
	}
	return nil
}

// Free removes what Fill wrote, if it did.
func (d *SmallDisk) Free() error {
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot free a disk: %w", err)
	}
	return nil
}

func (d *SmallDisk) ballast() string { return filepath.Join(d.dir, "ballast") }

// Close unmounts the disk, with all that is on it. Its servers must have ended.
func (d *SmallDisk) Close() error {
	return errors.Join(run(unmount(d.dir)), os.Remove(d.dir))
}

// mountNeeds names what is missing to mount anything.
func mountNeeds() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: that takes root", ErrNoDisk)
	}
	for _, program := range []string{"mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not on the PATH: run 'make setup', or install it (Debian: apt-get install mount)", program)
		}
	}
	return nil
}

// mountPoint makes an empty directory, in place of one where a killed process has left
// something mounted.
func mountPoint(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		_ = unmount(dir).Run() // nothing may be mounted there
		err = errors.Join(os.Remove(dir), os.Mkdir(dir, 0o755))
	}
	if err != nil {
		return fmt.Errorf("cannot make a disk: %w", err)
	}
	return nil
}

// unmount takes a disk from its place at once, and from memory once nobody has a file of it
// open: a process that is being forked has those of its parent, for a moment.
func unmount(dir string) *exec.Cmd { return exec.Command("umount", "--lazy", dir) }
