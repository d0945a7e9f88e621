package earlier

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a repository whose history a test writes.
type clone struct {
	t   *testing.T
	dir string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{t: t, dir: t.TempDir()}
	c.git("init", "--quiet")
	return c
}

func (c *clone) git(args ...string) {
	c.t.Helper()
	all := append([]string{"-C", c.dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
	if out, err := exec.CommandContext(c.t.Context(), "git", all...).CombinedOutput(); err != nil {
		c.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// commit commits programs that say something.
func (c *clone) commit(says string) {
	c.t.Helper()
	c.write("go.work", "go 1.26\nuse (\n./gateway\n./worker\n)\n")
	for _, program := range programs {
		c.write(program+"/go.mod", "module "+program+"\ngo 1.26\n")
		c.write(program+"/main.go", "package main\nfunc main() { println(\""+says+"\") }\n")
	}
	c.git("add", ".")
	c.git("commit", "--quiet", "--allow-empty", "--message", says)
}

func (c *clone) head() string {
	c.t.Helper()
	hash, err := git(c.t.Context(), c.dir, "rev-parse", "HEAD")
	must(c.t, err)
	return hash
}

func (c *clone) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	must(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(c.t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A commit that was never published is in the clone of whoever made it alone.
func TestPinned_IsInTheHistory(t *testing.T) {
	t.Parallel()
	if shallow, err := git(t.Context(), ".", "rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		t.Skip("this is no clone with all of its history")
	}
	for _, pinned := range []string{Pinned, PinnedOnClusters} {
		if _, err := git(t.Context(), ".", "merge-base", "--is-ancestor", pinned, "HEAD"); err != nil {
			t.Errorf("commit %s is not in the history: pin one that is", pinned)
		}
	}
}

func TestBuild_BuildsTheNewestTagBeforeHeadOnce(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.commit("older")
	c.git("tag", "v1")
	pinned := c.head()
	c.commit("old")
	c.git("tag", "v2")
	c.commit("new")
	c.git("tag", "v3") // what is built anyway
	c.write("gateway/main.go", "not committed")
	bin := t.TempDir()
	commit, dir, err := Build(t.Context(), c.dir, bin, pinned)
	must(t, err)
	if commit.Name != "v2" {
		t.Errorf("built %s", commit.Name)
	}
	for _, program := range programs {
		said, err := exec.CommandContext(t.Context(), filepath.Join(dir, program)).CombinedOutput()
		if err != nil || string(said) != "old\n" {
			t.Errorf("%s says %q, %v", program, said, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("leaves %v", left)
	}
	must(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600))
	_, again, err := Build(t.Context(), c.dir, bin, pinned)
	must(t, err)
	if _, err := os.Stat(filepath.Join(again, "kept")); err != nil {
		t.Errorf("built again: %v", err)
	}
}

func TestBuild_ATagOfBeforeThePinnedCommitIsTooOld(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.commit("old")
	c.git("tag", "v1")
	c.commit("pinned")
	pinned := c.head()
	c.commit("new")
	commit, _, err := Build(t.Context(), c.dir, t.TempDir(), pinned)
	if err != nil || commit.Hash != pinned {
		t.Errorf("built %+v: %v", commit, err)
	}
}

func TestBuild_SaysWhatToDoWithoutTheHistory(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.commit("only")
	for _, src := range []string{c.dir, t.TempDir()} {
		_, _, err := Build(t.Context(), src, t.TempDir(), Pinned)
		if err == nil || !strings.Contains(err.Error(), "is no clone with commit "+Pinned) || !strings.Contains(err.Error(), "git fetch --unshallow") {
			t.Errorf("%v", err)
		}
	}
}

func TestBuild_LeavesNothingOfACommitThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.commit("\"")
	c.git("tag", "v1")
	pinned := c.head()
	c.commit("new")
	bin := t.TempDir()
	_, _, err := Build(t.Context(), c.dir, bin, pinned)
	if err == nil || !strings.Contains(err.Error(), "cannot build the programs of commit v1") || !strings.Contains(err.Error(), "main.go:2") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Join(bin, "earlier")); err != nil || len(left) > 0 {
		t.Errorf("leaves %v, %v", left, err)
	}
}
