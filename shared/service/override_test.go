package service_test

import (
	"testing"

	"sluice/shared/service"
)

func TestHealth_HeldIsUnreadyUntilItIsNot(t *testing.T) {
	t.Parallel()
	health, _ := newHealth()
	phase := health.Phase("redis")
	expect := func(want service.Status) {
		t.Helper()
		if got := health.Status(); got != want {
			t.Errorf("status %s, want %s", got, want)
		}
	}
	health.Hold("maintenance")
	expect(service.StatusHeld)
	health.Unhold()
	expect(service.StatusWarming) // an operator's word warms nothing
	phase.Done()
	health.Hold("maintenance")
	if reason, held := health.Held(); !held || reason != "maintenance" || !health.Warm() {
		t.Errorf("held %v because of %q, warm %v", held, reason, health.Warm())
	}
	health.Unhold()
	expect(service.StatusReady)
	health.Hold("maintenance")
	health.Drain()
	expect(service.StatusDraining)
}
