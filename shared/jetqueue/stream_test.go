package jetqueue

import (
	"errors"
	"testing"

	"sluice/shared/devstack"
)

func TestEnsure_KeepsWhatIsSetAndNeverDeletesHandOvers(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartNATS(t.Context(), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	q := connect(t, server.URL())
	ctx := testContext(t)
	ensure := func(cfg StreamConfig) error { return q.Ensure(ctx, cfg) }
	if err := ensure(StreamConfig{MaxMessagesPerSale: 50}); err != nil {
		t.Fatal(err)
	}
	id := newSaleID()
	for range 30 {
		if _, err := q.Publish(ctx, handOver(id, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, lower := range []StreamConfig{{MaxMessagesPerSale: 29}, {MaxBytes: 100}} {
		if err := ensure(lower); !errors.Is(err, ErrCap) {
			t.Errorf("%+v: %v, want ErrCap", lower, err)
		}
	}
	if err := ensure(StreamConfig{}); err != nil { // a plain migrate
		t.Fatal(err)
	}
	info, err := q.js.Stream(ctx, StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if c := info.CachedInfo(); c.Config.MaxMsgsPerSubject != 50 || c.State.Msgs != 30 {
		t.Errorf("cap %d with %d hand-overs, want 50 with 30", c.Config.MaxMsgsPerSubject, c.State.Msgs)
	}
}
