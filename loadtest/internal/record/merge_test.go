package record

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Three processes record a part each; what is merged, by way of JSON, has every
// percentile that one process would have found.
func TestMerge_PercentilesAreThoseOfTheWhole(t *testing.T) {
	t.Parallel()
	var whole, merged Latencies
	parts := make([]Latencies, 3)
	for i := range 30_000 {
		d := time.Duration(i*i%1_000_003) * 7 * time.Microsecond
		class := []string{"in_stock.accepted", "sold_out.sold_out"}[i%2]
		whole.Add(class, d)
		parts[i*i%3].Add(class, d)
	}
	parts[2].Add("poll.read", time.Hour)
	whole.Add("poll.read", time.Hour)
	for i := range parts {
		text, err := json.Marshal(parts[i].Export())
		if err != nil {
			t.Fatal(err)
		}
		var got Exported
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if dropped := merged.Merge(got); dropped != 0 {
			t.Errorf("%d latencies dropped", dropped)
		}
	}
	if diff := cmp.Diff(whole.Summaries(), merged.Summaries()); diff != "" {
		t.Error(diff)
	}
}
