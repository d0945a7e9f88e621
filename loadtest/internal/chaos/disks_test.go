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
	rounds := notRun([]Row{natsDiskFull(), natsLosesPowerUnsynced()}, 1, why, &out)
	if len(rounds) != 2 {
		t.Fatalf("%d rounds of two rows", len(rounds))
	}
	for _, f := range rounds {
		if f.Pass || len(f.Violations)+len(f.Shown) > 0 || !strings.Contains(f.NotRun, "that takes root") || !strings.Contains(f.NotRun, "-except "+f.Row) {
			t.Errorf("round %+v", f)
		}
	}
	if got := strings.Count(out.String(), "NOT RUN"); got != 2 {
		t.Errorf("printed %s", out.String())
	}
}
