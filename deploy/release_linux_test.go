package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a small clone with the scripts that make a release. Its Go builds programs that say
// how they were built: as the real one does it reads settings from a file, unless GOENV is off.
type clone struct {
	t    *testing.T
	dir  string
	path string // PATH
}

const ownGo = `#!/bin/sh
case "$1 $2" in
"env -w") printf '%s\n' "$3" >>"$GOENV" ;;
"env GOENV") echo "${GOENV:-$HOME/goenv}" ;;
env*) echo "$2 of this machine" ;;
version*) echo "go version go1.26.0 linux/amd64" ;;
build*)
	while [ "$1" != -o ]; do shift; done
	{ echo "$GOOS $GOARCH"; cat "${GOENV:-$HOME/goenv}" 2>/dev/null || :; } >"$2"
	;;
*) exit 1 ;;
esac
`

const ownGomod = `#!/bin/sh
[ "$1" != version ] || { echo 9.9.9; exit; }
while [ "$1" != -output ]; do shift; done
echo bill >"$2"
`

func newClone(t *testing.T) *clone {
	t.Helper()
	home := t.TempDir()
	c := &clone{t: t, dir: filepath.Join(home, "clone"), path: filepath.Join(home, "tools") + ":" + os.Getenv("PATH")}
	c.write("../tools/go", ownGo)
	c.write("../goenv", "GOFLAGS=-tags=of_this_machine\n")
	c.write("bin/cyclonedx-gomod", ownGomod)
	c.write(".gitignore", "/bin/\n/out/\n")
	for _, file := range []string{"LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md", "docs/upgrade.md", "docs/runbook.md", "go.work"} {
		c.write(file, file)
	}
	for _, script := range []string{"release.sh", "stamp.sh", "reproducible.sh"} {
		c.write("scripts/"+script, readFile(t, root, "scripts", script))
	}
	c.mustRun("git", "init", "--quiet")
	c.commit()
	return c
}

func (c *clone) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clone) commit() {
	c.t.Helper()
	c.mustRun("git", "add", "--all")
	c.mustRun("git", "-c", "user.name=Sluice", "-c", "user.email=sluice@example.com", "commit", "--quiet", "--message", "A commit")
}

func (c *clone) run(version string, command ...string) (said string, err error) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), command[0], command[1:]...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + c.path, "HOME=" + filepath.Dir(c.dir), "GIT_CONFIG_NOSYSTEM=1", "PLATFORMS=linux/amd64", "VERSION=" + version}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clone) mustRun(command ...string) {
	c.t.Helper()
	if said, err := c.run("", command...); err != nil {
		c.t.Fatalf("%v: %v\n%s", command, err, said)
	}
}

func (c *clone) release(version string) (said string, err error) {
	c.t.Helper()
	return c.run(version, "scripts/release.sh", "v9.9.9", "out/release")
}

func (c *clone) wantRefused(version, why string) {
	c.t.Helper()
	said, err := c.release(version)
	if err == nil || !strings.Contains(said, why) {
		c.t.Errorf("VERSION=%q says, with %v:\n%s\nwant %q", version, err, said, why)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "out")); err == nil {
		c.t.Errorf("VERSION=%q is packed all the same", version)
	}
}

func TestRelease_AVersionIsOfACommit(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.mustRun("git", "tag", "v1.2.3")
	c.write("new.go", "package new")
	c.wantRefused("v1.2.3", "the clone has changes that are in no commit")
	c.commit()
	c.write("new.go", "package other")
	c.wantRefused("v1.2.4", "git stash -u")
	if said, err := c.release(""); err != nil || !strings.Contains(said, "nobody can build") {
		t.Errorf("a release without VERSION: %v\n%s", err, said)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "out")); err != nil {
		t.Fatal(err)
	}
	c.commit()
	c.wantRefused("v1.2.3", "git checkout v1.2.3")
	c.mustRun("git", "checkout", "--quiet", "v1.2.3")
	for _, version := range []string{"v1.2.3", "v1.2.4"} { // its own tag, and none yet
		if said, err := c.release(version); err != nil {
			t.Errorf("VERSION=%s: %v\n%s", version, err, said)
		}
	}
}

// What packs other bytes, or is not there, is told before anything is built.
func TestRelease_NamesTheToolThatIsMissing(t *testing.T) {
	t.Parallel()
	for tool, why := range map[string]string{"tar": "GNU tar is not on the PATH", "gzip": "GNU gzip is not on the PATH", "sha256sum": "sha256sum is not on the PATH"} {
		c := newClone(t)
		tools := t.TempDir()
		for _, name := range []string{"dirname", "git", "grep", "gzip", "sha256sum", "tar"} {
			found, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			if name == tool {
				continue
			}
			if err := os.Symlink(found, filepath.Join(tools, name)); err != nil {
				t.Fatal(err)
			}
		}
		c.path = tools
		c.wantRefused("v1.2.3", why)
		if tool != "sha256sum" {
			c.write("../another", "#!/bin/sh\necho Apple "+tool+" 430\n")
			if err := os.Rename(filepath.Join(c.dir, "../another"), filepath.Join(tools, tool)); err != nil {
				t.Fatal(err)
			}
			c.wantRefused("v1.2.3", why)
		}
	}
}

func TestReproducible_NoticesSettingsOfTheMachine(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	if said, err := c.run("", "scripts/reproducible.sh", "v9.9.9"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	script := readFile(t, c.dir, "scripts/release.sh")
	c.write("scripts/release.sh", strings.Replace(script, " GOENV=off\n", "\n", 1))
	c.commit()
	if said, err := c.run("", "scripts/reproducible.sh", "v9.9.9"); err == nil || !strings.Contains(said, "the two builds differ") {
		t.Errorf("the file of go env -w is read, and nothing is said: %v\n%s", err, said)
	}
}
