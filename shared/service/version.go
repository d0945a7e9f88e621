package service

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
)

// What `make build` and `make release` stamp with -ldflags "-X": scripts/stamp.sh. A
// program that was built without says what the Go tool noted of the clone.
var (
	stampedVersion string // v1.2.3, or v1.2.3-4-gCOMMIT of a commit after a release
	stampedCommit  string // 40 hex digits
	stampedTime    string // of the commit, RFC 3339
)

// unreleased is the version of a program that was stamped with none.
const unreleased = "devel"

// Version says which program this is.
type Version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // of the commit, RFC 3339: two builds of a commit are alike
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // linux/amd64
}

// ReadVersion reads what this program was stamped with.
var ReadVersion = sync.OnceValue(func() Version {
	built, _ := debug.ReadBuildInfo() // nil in a program that was built without modules
	return versionOf(stampedVersion, stampedCommit, stampedTime, built)
})

// versionOf prefers the stamps, which are of one commit, to what the Go tool noted.
func versionOf(version, commit, time string, built *debug.BuildInfo) Version {
	if built == nil {
		built = &debug.BuildInfo{}
	}
	noted := map[string]string{}
	for _, s := range built.Settings {
		noted[s.Key] = s.Value
	}
	v := Version{Version: cmp.Or(version, unreleased), Commit: commit, Time: time,
		Go: built.GoVersion, Platform: noted["GOOS"] + "/" + noted["GOARCH"]}
	if commit == "" {
		v.Commit, v.Time, v.Modified = noted["vcs.revision"], noted["vcs.time"], noted["vcs.modified"] == "true"
	}
	return v
}

// String is one line for people.
func (v Version) String() string {
	text := v.Version
	if v.Commit != "" {
		text += fmt.Sprintf(" (commit %.12s of %s)", v.Commit, v.Time)
	}
	if v.Modified {
		text += ", modified since"
	}
	return text + fmt.Sprintf(", %s, %s", v.Go, v.Platform)
}

// versionAsked tells whether a program is asked for its version, and nothing else.
func versionAsked(args []string) bool {
	return len(args) == 1 && (args[0] == "version" || args[0] == "-version" || args[0] == "--version")
}

// tellVersion answers `PROGRAM -version`.
func tellVersion(w io.Writer, name string) error {
	if _, err := fmt.Fprintf(w, "%s %s\n", name, ReadVersion()); err != nil {
		return fmt.Errorf("cannot print the version: %w", err)
	}
	return nil
}
