package chaos

import "testing"

func TestRoutes_GoToTheNextGatewayThatIsReady(t *testing.T) {
	t.Parallel()
	var r routes
	want := func(buyer, at int) {
		t.Helper()
		if got := r.from(buyer, 4); got != at {
			t.Errorf("buyer %d goes to gateway %d, want %d", buyer, got, at)
		}
	}
	want(7, 3)
	r.set(3, false)
	r.set(0, false)
	want(7, 1)
	want(6, 2)
	r.set(0, true)
	want(7, 0)
	for i := range 4 {
		r.set(i, false)
	}
	want(7, 3) // nobody is ready: it finds out by itself
}

func TestRoutes_LeaveNothingIdleWhereAGatewayEnds(t *testing.T) {
	t.Parallel()
	var r routes
	ended := 0
	r.carry(func() { ended++ })
	r.set(1, true)
	if ended != 0 {
		t.Errorf("connections ended %d times while every gateway is ready, want 0", ended)
	}
	r.set(1, false)
	if ended != 1 {
		t.Errorf("connections ended %d times when a gateway became unready, want 1", ended)
	}
}
