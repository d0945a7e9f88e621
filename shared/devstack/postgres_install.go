package devstack

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// postgresInstall is where one version's programs are.
type postgresInstall struct{ postgres, initdb string }

// sibling is another program of the version, in the same directory.
func (i postgresInstall) sibling(name string) string {
	return filepath.Join(filepath.Dir(i.postgres), name)
}

// debianServers is where Debian keeps its versions, off the PATH.
const debianServers = "/usr/lib/postgresql/*/bin/postgres"

// findPostgres returns the newest version that matches pattern, else what is on the
// PATH. A client-only package has no initdb and does not count.
func findPostgres(pattern string) (postgresInstall, error) {
	servers, err := filepath.Glob(pattern)
	if err != nil {
		return postgresInstall{}, fmt.Errorf("cannot look for postgres: %w", err)
	}
	slices.SortFunc(servers, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		servers = append(servers, path)
	}
	for _, server := range servers {
		initdb := filepath.Join(filepath.Dir(server), "initdb")
		if _, err := os.Stat(initdb); err == nil {
			return postgresInstall{postgres: server, initdb: initdb}, nil
		}
	}
	return postgresInstall{}, fmt.Errorf("no Postgres server in /usr/lib/postgresql or on the PATH: run 'make setup', or install it (Debian: apt-get install postgresql)")
}

// majorVersion reads 15 from /usr/lib/postgresql/15/bin/postgres; 0 if it is not so.
func majorVersion(server string) int {
	version, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(server))))
	if err != nil {
		return 0
	}
	return version
}

// account is who Postgres runs as; nil credentials are this process's own.
type account struct{ cred *syscall.Credential }

// postgresAccount is the user postgres for root, whom initdb refuses.
func postgresAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return account{}, fmt.Errorf("cannot run Postgres as root, and there is no user postgres: %w", err)
	}
	uid, err := strconv.ParseUint(postgres.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("cannot read the id of user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(postgres.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("cannot read the group of user postgres: %w", err)
	}
	return account{cred: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// runs makes cmd run as the account, in a directory that any account may enter.
func (a account) runs(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.cred}
	cmd.Dir = "/"
	return cmd
}

// own gives dir to the account.
func (a account) own(dir string) error {
	if a.cred == nil {
		return nil
	}
	if err := os.Chown(dir, int(a.cred.Uid), int(a.cred.Gid)); err != nil {
		return fmt.Errorf("cannot give %s to Postgres's user: %w", dir, err)
	}
	return nil
}

// reach lets the account pass through every directory above path. Only those below
// the temp dir, and the temp dir, are opened, and only to pass, not to list.
func (a account) reach(path string) error {
	if a.cred == nil {
		return nil
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("cannot prepare a directory for Postgres: %w", err)
		}
		if info.Mode().Perm()&0o001 != 0 {
			continue
		}
		if !within(os.TempDir(), dir) {
			return fmt.Errorf("user postgres cannot reach %s: %s is closed to others; choose another directory, or set TMPDIR to /tmp", path, dir)
		}
		if err := os.Chmod(dir, info.Mode().Perm()|info.Mode()&os.ModeSticky|0o001); err != nil {
			return fmt.Errorf("cannot open %s to Postgres's user: %w", dir, err)
		}
	}
	return nil
}

func within(parent, dir string) bool {
	rel, err := filepath.Rel(parent, dir)
	return err == nil && filepath.IsLocal(rel)
}
