package client

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// confirmed is what becomes of a queued ticket.
func confirmed() Ticket {
	t := queued("t1", time.Minute)
	t.Status, t.OrderID = sale.StatusConfirmed, "o1"
	return t
}

func tell(w http.ResponseWriter, etag string, t Ticket) {
	w.Header().Set("ETag", etag)
	status(w, 200, t)
}

func TestAwait_IsHeldUntilThereIsNews(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0:
			hold(req, 25*time.Second)
			tell(w, `"a"`, queued("t1", 0))
		case 1:
			hold(req, 25*time.Second)
			w.WriteHeader(http.StatusNotModified)
		case 2:
			hold(req, time.Second)
			tell(w, `"b"`, queued("t1", 0)) // fewer are ahead
		default:
			hold(req, time.Second)
			tell(w, `"c"`, confirmed())
		}
	}, func(r *rig) {
		reads := 0
		got, err := r.client.Follow(r.t.Context(), Ticket{Ticket: "t1"}, func(Ticket, time.Duration) { reads++ })
		if err != nil || got.Status != sale.StatusConfirmed || got.OrderID != "o1" || reads != 4 {
			t.Errorf("ticket %+v, %v after %d reads", got, err, reads)
		}
		r.asked(read+"?wait=25", read+`?wait=25 "a"`, read+`?wait=25 "a"`, read+`?wait=25 "b"`)
		if took := time.Since(r.began); took > 52*time.Second+firstWait {
			t.Errorf("took %s, held for 52s", took)
		}
	})
}

func TestAwait_PollsAsToldWhereReadsAreNotHeld(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch {
		case n == 6:
			tell(w, `"b"`, confirmed())
		case req.Header.Get("If-None-Match") == `"a"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			tell(w, `"a"`, queued("t1", 0))
		}
	}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), queued("t1", 0)); err != nil || got.Status != sale.StatusConfirmed {
			t.Fatalf("ticket %+v, %v", got, err)
		}
		for _, gap := range r.gaps() {
			if gap < 1990*time.Millisecond || gap > 2500*time.Millisecond {
				t.Errorf("read again after %s, told 2s", gap)
			}
		}
	})
}

func TestAwait_StopsAskingToBeHeldWhereThatIsCut(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.RawQuery != "": // a proxy with little patience
			hold(req, 5*time.Second)
			drop(w, req)
		case n < 4:
			tell(w, `"a"`, queued("t1", 0))
		default:
			tell(w, `"b"`, confirmed())
		}
	}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), queued("t1", 0)); err != nil || got.Status != sale.StatusConfirmed {
			t.Fatalf("ticket %+v, %v", got, err)
		}
		r.asked(read+"?wait=25", read+"?wait=25", read, read+` "a"`, read+` "a"`)
	})
}

func TestAwait_ReadThatIsHeldMakesUpForOneThatWasCut(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0, 2, 3: // net/http repeats the third read by itself, over another connection
			hold(req, 5*time.Second)
			drop(w, req)
		case 1:
			hold(req, 25*time.Second)
			tell(w, `"a"`, queued("t1", 0))
		default:
			tell(w, `"b"`, confirmed())
		}
	}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), Ticket{Ticket: "t1"}); err != nil || got.Status != sale.StatusConfirmed {
			t.Fatalf("ticket %+v, %v", got, err)
		}
		r.asked(read+"?wait=25", read+"?wait=25", read+`?wait=25 "a"`, read+`?wait=25 "a"`, read+`?wait=25 "a"`)
	})
}

func TestAwait_PollingClientNeverAsksToBeHeld(t *testing.T) {
	play(t, Config{Polling: true}, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 8 {
			tell(w, `"a"`, queued("t1", 0))
			return
		}
		tell(w, `"b"`, confirmed())
	}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), queued("t1", 0)); err != nil || got.Status != sale.StatusConfirmed {
			t.Fatalf("ticket %+v, %v", got, err)
		}
		different := make(map[time.Duration]bool)
		for _, gap := range append(r.gaps(), r.at[0]) {
			if gap < 2*time.Second || gap > 2500*time.Millisecond {
				t.Errorf("read again after %s, told 2s", gap)
			}
			different[gap] = true
		}
		if len(different) < 3 || strings.Contains(strings.Join(r.log, " "), "wait") {
			t.Errorf("gaps %v of requests %q", r.gaps(), r.log)
		}
	})
}

func TestAwait_GatewayThatSaysToComeBackAtOnceIsNotStormed(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, _ *http.Request) {
		eager := queued("t1", 0)
		eager.PollAfterMS = 0
		tell(w, `"`+strings.Repeat("x", n)+`"`, eager) // always news
	}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
		defer cancel()
		got, err := r.client.Await(ctx, queued("t1", 0))
		if err == nil || got.Status != sale.StatusQueued || len(r.log) > 51 {
			t.Errorf("ticket %+v, %v after %d requests in 10s", got, err, len(r.log))
		}
	})
}

func TestAwait_OutlivesFaultsAndGoesToTheNextGateway(t *testing.T) {
	play(t, Config{BaseURLs: []string{"http://down", "http://one"}}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0:
			refuse(w, 503, Unavailable, "3", nil) // while the sale is rebuilt
		case 1:
			drop(w, req)
		default:
			tell(w, `"a"`, confirmed())
		}
	}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), queued("t1", 0)); err != nil || got.Status != sale.StatusConfirmed {
			t.Fatalf("ticket %+v, %v", got, err)
		}
		if gap := r.gaps()[0]; gap < 3*time.Second {
			t.Errorf("read again after %s, told 3s", gap)
		}
	})
}

func TestAwait_WaitsNoLongerThanItsContext(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, req *http.Request) {
		hold(req, 7*time.Second)
		tell(w, `"a"`, queued("t1", 0))
	}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 7500*time.Millisecond)
		defer cancel()
		if got, err := r.client.Await(ctx, queued("t1", 0)); err == nil || got.etag != `"a"` {
			t.Errorf("ticket %+v, %v", got, err)
		}
		r.asked(read+"?wait=7", read+` "a"`)
	})
}

func TestAwait_ForeignTicketIsRefusedAtOnce(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 404, NoSuchTicket, "", nil) }, func(r *rig) {
		_, err := r.client.Await(r.t.Context(), queued("t1", 0))
		if refused := wantRefusal(t, err, NoSuchTicket); refused.Status != 404 {
			t.Errorf("refusal %+v", refused)
		}
		r.asked(read + "?wait=25")
	})
}

func TestAwait_GivesUpOnGatewaysThatStayAway(t *testing.T) {
	play(t, Config{BaseURLs: []string{"http://down"}}, func(int, http.ResponseWriter, *http.Request) {}, func(r *rig) {
		_, err := r.client.Await(r.t.Context(), queued("t1", 0))
		if took := time.Since(r.began); err == nil || took > 5*time.Minute {
			t.Errorf("error %v after %s", err, took)
		}
	})
}

func TestAwait_TicketWithAnOutcomeAsksNobody(t *testing.T) {
	play(t, Config{}, func(int, http.ResponseWriter, *http.Request) {}, func(r *rig) {
		if got, err := r.client.Await(r.t.Context(), confirmed()); err != nil || got.OrderID != "o1" {
			t.Errorf("ticket %+v, %v", got, err)
		}
		r.asked()
	})
}
