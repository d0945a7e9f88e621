package funnel

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"sluice/gateway/internal/tickets"
)

func TestDrawRID_IsAUUIDOfItsMoment(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, at := range []time.Time{time.UnixMilli(1), time.Date(2026, 12, 1, 10, 0, 0, 123e6, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		for range 1000 {
			rid := drawRID(at)
			id, err := uuid.Parse(rid)
			if err != nil || id.String() != rid || id.Version() != 7 || id.Variant() != uuid.RFC4122 || !tickets.DrawnAt(rid).Equal(at) {
				t.Fatalf("%s of %v is of %v, version %v, variant %v, %v", rid, at, tickets.DrawnAt(rid), id.Version(), id.Variant(), err)
			}
			if seen[rid] {
				t.Fatalf("%s was drawn twice", rid)
			}
			seen[rid] = true
		}
	}
}

func BenchmarkDrawRID(b *testing.B) {
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		drawRID(at)
	}
}
