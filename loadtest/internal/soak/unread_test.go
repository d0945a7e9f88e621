package soak

import (
	"slices"
	"testing"

	"sluice/loadtest/internal/report"
)

func TestUnread_IsWhatIsMissingOrReadTooRarely(t *testing.T) {
	t.Parallel()
	growths := []report.Growth{
		{Name: "often", Judged: true, Readings: 20},
		{Name: "rarely", Readings: 3},
		{Name: "kept", Kept: "rows", Readings: 3},
	}
	got := unread([]string{"often", "rarely", "gone"}, growths)
	if want := []string{"rarely (3 times)", "gone (never)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
