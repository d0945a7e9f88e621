package openapitest

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Verdict is for TestMain: it turns the exit code of the tests into 1 when they
// passed, all of them were run and yet something documented was never seen. It
// lists that to w.
func (d *Document) Verdict(code int, w io.Writer) int {
	missing := d.Missing()
	if code != 0 || len(missing) == 0 || !full() {
		return code
	}
	fmt.Fprintf(w, "documented, but no test has seen it:\n\t%s\n", strings.Join(missing, "\n\t"))
	return 1
}

// full reports whether this run was asked to run every test.
func full() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}
