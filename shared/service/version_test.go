package service

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func built(settings ...debug.BuildSetting) *debug.BuildInfo {
	return &debug.BuildInfo{GoVersion: "go1.26.8", Settings: append(settings,
		debug.BuildSetting{Key: "GOOS", Value: "linux"}, debug.BuildSetting{Key: "GOARCH", Value: "arm64"})}
}

func TestVersionOf_StampsBeforeWhatTheGoToolNoted(t *testing.T) {
	t.Parallel()
	clone := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "cccccccccccccccccccccccccccccccccccccccc"},
		{Key: "vcs.time", Value: "2026-11-01T00:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		version, commit, time string
		built                 *debug.BuildInfo
		want                  Version
		line                  string
	}{
		"stamped": {"v1.2.3", "dddddddddddddddddddddddddddddddddddddddd", "2026-12-01T00:00:00Z", built(clone...),
			Version{Version: "v1.2.3", Commit: "dddddddddddddddddddddddddddddddddddddddd", Time: "2026-12-01T00:00:00Z", Go: "go1.26.8", Platform: "linux/arm64"},
			"v1.2.3 (commit dddddddddddd of 2026-12-01T00:00:00Z), go1.26.8, linux/arm64"},
		"of a clone": {"", "", "", built(clone...),
			Version{Version: "devel", Commit: "cccccccccccccccccccccccccccccccccccccccc", Time: "2026-11-01T00:00:00Z", Modified: true, Go: "go1.26.8", Platform: "linux/arm64"},
			"devel (commit cccccccccccc of 2026-11-01T00:00:00Z), modified since, go1.26.8, linux/arm64"},
		"of an archive": {"", "", "", built(), Version{Version: "devel", Go: "go1.26.8", Platform: "linux/arm64"}, "devel, go1.26.8, linux/arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := versionOf(c.version, c.commit, c.time, c.built)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("version differs (-want +got):\n%s", diff)
			}
			if got.String() != c.line {
				t.Errorf("reads %q, want %q", got, c.line)
			}
		})
	}
}

func TestReadVersion_KnowsGoAndPlatform(t *testing.T) {
	t.Parallel()
	if v := ReadVersion(); v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH || v.Version == "" {
		t.Errorf("version is %+v", v)
	}
}
