package earlier

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// What is built while nothing newer is tagged: the last commit before the scripts of reserve,
// settle and hand-over and the schema changed last, and the first one that knows clustered
// stores.
const (
	Pinned           = "6cf7394a7e896f774a8d321da6f8cba3837a2c3a"
	PinnedOnClusters = "6125ab2be0dcb4f36da8e17aa8fc9e49f9fc9fe9"
)

// Commit is an earlier state of this repository.
type Commit struct {
	Hash string // all of it
	Name string // its tag, or the beginning of its hash
}

// find says which commit of the clone at src is the earlier one: the newest tag before HEAD,
// or pinned if no tag has that in its history.
func find(ctx context.Context, src, pinned string) (Commit, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return Commit{}, errors.New("cannot build earlier programs without git: install it")
	}
	name, err := git(ctx, src, "describe", "--tags", "--abbrev=0", "HEAD^")
	if err == nil {
		_, err = git(ctx, src, "merge-base", "--is-ancestor", pinned, name)
	}
	if err != nil {
		name = pinned // no tag, or none that has it, or no history
	}
	hash, err := git(ctx, src, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return Commit{}, fmt.Errorf("cannot build earlier programs: %s is no clone with commit %s: name one with -src; if it is shallow, run 'git fetch --unshallow' there", src, name)
	}
	if name == pinned {
		name = hash[:12]
	}
	return Commit{Hash: hash, Name: name}, nil
}

// git returns what a git command prints, without the end of its last line.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
