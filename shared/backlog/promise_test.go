package backlog

import (
	"flag"
	"io"
	"strings"
	"testing"
)

func TestPromise_IsHalfAMinuteUnlessSaidAndAtLeastASecond(t *testing.T) {
	t.Parallel()
	for args, refused := range map[string]bool{"": false, "-backlog-promise=1s": false, "-backlog-promise=999ms": true, "-backlog-promise=-5s": true} {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		var promise = longest
		PromiseFlag(fs, &promise)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if args == "" && promise.Seconds() != 30 {
			t.Errorf("promise %v by default", promise)
		}
		if err := CheckPromise(promise); (err != nil) != refused || refused && !strings.Contains(err.Error(), "-backlog-promise (SLUICE_BACKLOG_PROMISE)") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
