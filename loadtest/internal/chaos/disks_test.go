package chaos

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sluice/shared/devstack"
)

func TestNotRun_IsNoPass(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	why := fmt.Errorf("%w: that takes root", devstack.ErrNoDisk)
	rounds := Config{Seeds: []uint64{1, 2}}.notRun([]Row{natsDiskFull(), natsLosesPowerUnsynced()}, why, &out)
	if len(rounds) != 4 {
		t.Fatalf("%d rounds of two rows with two seeds", len(rounds))
	}
	for _, f := range rounds {
		if f.Pass || len(f.Violations)+len(f.Shown) > 0 || !strings.Contains(f.NotRun, "that takes root") || !strings.Contains(f.NotRun, "-except "+f.Row) {
			t.Errorf("round %+v", f)
		}
	}
	if got := strings.Count(out.String(), "NOT RUN"); got != 4 {
		t.Errorf("printed %s", out.String())
	}
}
