package client

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"sluice/shared/sale"
)

func wantTicket(t *testing.T, got Ticket, err error, name string) {
	t.Helper()
	if err != nil || got.Ticket != name {
		t.Errorf("ticket %q, %v; want %s", got.Ticket, err, name)
	}
}

func wantRefusal(t *testing.T, err error, name Name) (r *Refusal) {
	t.Helper()
	if !errors.As(err, &r) || r.Name != name {
		t.Fatalf("error %v, want refusal %s", err, name)
	}
	return r
}

func TestBuy_AcceptedIsOneRequest(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer jwt" {
			t.Errorf("authorization %q", req.Header.Get("Authorization"))
		}
		status(w, 202, queued("t1", 0))
	}, func(r *rig) {
		got, err := r.buy("k")
		wantTicket(t, got, err, "t1")
		if got.Status != sale.StatusQueued || got.PollAfterMS != 2000 {
			t.Errorf("ticket %+v", got)
		}
		r.asked(post + " k")
	})
}

func TestBuy_LostAnswerOfAWonAttemptIsFoundNotRepeated(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		if n == 0 {
			drop(w, req)
		}
		status(w, 200, list(queued("t1", 100*time.Millisecond), queued("old", time.Hour)))
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post, mine)
	})
}

func TestBuy_LostAttemptThatReservedNothingIsRepeatedWithItsKey(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0:
			drop(w, req)
		case 1:
			status(w, 200, list(queued("old", time.Hour)))
		default:
			status(w, 202, queued("t1", 0))
		}
	}, func(r *rig) {
		got, err := r.buy("k")
		wantTicket(t, got, err, "t1")
		r.asked(post+" k", mine, post+" k")
	})
}

// net/http sends a request with an idempotency key again by itself when a
// connection that was used before breaks.
func TestBuy_NothingBelowRepeatsAnAttempt(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0:
			status(w, 200, map[string]any{"sales": []Sale{}})
		case 1:
			drop(w, req)
		default:
			status(w, 200, list(queued("t1", 0)))
		}
	}, func(r *rig) {
		if _, err := r.client.Sales(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := r.buy("k")
		wantTicket(t, got, err, "t1")
		r.asked("GET /v1/sales", post+" k", mine)
	})
}

func TestBuy_ServerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answer script
		asks   bool // before it tries again
	}{
		"unavailable without a ticket is in doubt": {func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 503, Unavailable, "1", linked) }, true},
		"a proxy's 502 is in doubt":                {func(_ int, w http.ResponseWriter, _ *http.Request) { status(w, 502, "<html>bad gateway</html>") }, true},
		"a cut answer is in doubt":                 {func(_ int, w http.ResponseWriter, _ *http.Request) { status(w, 202, `{"ticket":"t`) }, true},
		"an answer that never comes is in doubt":   {func(_ int, _ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, true},
		"an idle connection's 408 is not":          {func(_ int, w http.ResponseWriter, _ *http.Request) { status(w, 408, "") }, false},
		"busy is not":                              {func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 503, Busy, "1", linked) }, false},
		"paused is not":                            {func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 503, Paused, "1", linked) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
				switch {
				case n == 0:
					c.answer(n, w, req)
				case req.Method == http.MethodGet:
					status(w, 200, list())
				default:
					status(w, 202, queued("t1", 0))
				}
			}, func(r *rig) {
				got, err := r.buy("")
				wantTicket(t, got, err, "t1")
				if c.asks {
					r.asked(post, mine, post)
				} else {
					r.asked(post, post)
				}
			})
		})
	}
}

func TestBuy_UnknownHandOverIsATicket(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		refuse(w, 503, Unavailable, "1", map[string]any{"ticket": queued("t1", 0)})
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post)
	})
}

func TestBuy_SlowGatewayIsGivenUpAfterTheTimeout(t *testing.T) {
	play(t, Config{Timeout: 3 * time.Second}, func(n int, w http.ResponseWriter, req *http.Request) {
		if n == 0 {
			<-req.Context().Done()
			return
		}
		status(w, 200, list(queued("t1", 2*time.Second)))
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		if gap := r.gaps()[0]; gap < 3*time.Second || gap > 4*time.Second {
			t.Errorf("asked %s later", gap)
		}
	})
}

func TestBuy_RetryAfterIsHonouredWithJitterAndNeverEarly(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 4 {
			refuse(w, 429, TooManyRequests, "8", nil)
			return
		}
		status(w, 202, queued("t1", 0))
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post, post, post, post, post)
		different := make(map[time.Duration]bool)
		for _, gap := range r.gaps() {
			if gap < 8*time.Second || gap > 10*time.Second {
				t.Errorf("came back after %s, told 8s", gap)
			}
			different[gap] = true
		}
		if len(different) < 2 {
			t.Errorf("no jitter: %v", r.gaps())
		}
	})
}

func TestBuy_GivesUpWhenItsPatienceEnds(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 503, Busy, "1", linked) }, func(r *rig) {
		_, err := r.buy("")
		attempts, least := Patience(wantRefusal(t, err, Busy).RetryAfter)
		if took := time.Since(r.began); len(r.gaps()) != attempts-1 || took < least || took > least+least/4 {
			t.Errorf("%d attempts within %s, want %d within %s and a quarter", len(r.gaps())+1, took, attempts, least)
		}
	})
}

func TestBuy_SoldOutIsNotBelievedWhileAnAttemptIsInDoubt(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0:
			drop(w, req)
		case 1:
			status(w, 200, list())
		case 2:
			refuse(w, 409, SoldOut, "", linked)
		default: // the first attempt was under way still
			status(w, 200, list(queued("t1", 0)))
		}
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post, mine, post, mine)
	})
}

func TestBuy_SoldOutWithoutDoubtCostsOneRequest(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		refuse(w, 409, SoldOut, "", map[string]any{"may_return": true, "my_tickets": "/x"})
	}, func(r *rig) {
		_, err := r.buy("")
		if refused := wantRefusal(t, err, SoldOut); !refused.MayReturn || errors.Is(err, ErrUnknown) {
			t.Errorf("refusal %+v, error %v", refused, err)
		}
		r.asked(post)
	})
}

func TestBuy_DoubtOutlivesTheCallThatLeftIt(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		if n == 0 {
			drop(w, req)
		}
		status(w, 200, list(queued("t1", time.Minute)))
	}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond) // too short to ask
		defer cancel()
		if _, err := r.client.Buy(ctx, "phone", ""); !errors.Is(err, ErrUnknown) {
			t.Fatalf("error %v, want ErrUnknown", err)
		}
		time.Sleep(time.Minute)
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post, mine)
	})
}

func TestBuy_TicketOfAnotherPurchaseIsNotTakenForThisOne(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0: // the first unit
			drop(w, req)
		case 1: // the second
			status(w, 202, queued("second", 0))
		case 2:
			status(w, 200, list(queued("second", 0)))
		default:
			status(w, 202, queued("first", 0))
		}
	}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := r.client.Buy(ctx, "phone", "1"); !errors.Is(err, ErrUnknown) {
			t.Fatalf("error %v, want ErrUnknown", err)
		}
		got, err := r.buy("2")
		wantTicket(t, got, err, "second")
		got, err = r.buy("1")
		wantTicket(t, got, err, "first")
		r.asked(post+" 1", post+" 2", mine, post+" 1")
	})
}

func TestBuy_GivesUpOnGatewaysThatStayAway(t *testing.T) {
	play(t, Config{BaseURLs: []string{"http://down"}}, func(int, http.ResponseWriter, *http.Request) {}, func(r *rig) {
		_, err := r.buy("")
		if took := time.Since(r.began); !errors.Is(err, ErrUnknown) || took > time.Minute {
			t.Errorf("error %v after %s", err, took)
		}
	})
}

func TestBuy_NextGatewayIsAskedWhenOneIsDown(t *testing.T) {
	play(t, Config{BaseURLs: []string{"http://down/", "http://one/"}}, func(_ int, w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			status(w, 200, list())
			return
		}
		status(w, 202, queued("t1", 0))
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(mine, post)
	})
}

func TestBuy_DoesNotWaitForWhatComesAfterItsDeadline(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 503, Paused, "20", linked) }, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
		defer cancel()
		_, err := r.client.Buy(ctx, "phone", "")
		if refused := wantRefusal(t, err, Paused); refused.RetryAfter != 20*time.Second || time.Since(r.began) > time.Second {
			t.Errorf("refusal %+v after %s", refused, time.Since(r.began))
		}
		r.asked(post)
	})
}

func TestBuy_DoesNotWaitForWhatIsFarAway(t *testing.T) {
	play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, 429, TooManyRequests, "60", nil) }, func(r *rig) {
		_, err := r.buy("")
		if refused := wantRefusal(t, err, TooManyRequests); refused.RetryAfter != time.Minute {
			t.Errorf("refusal %+v", refused)
		}
		r.asked(post)
	})
}

// The second attempt in doubt is sent long after the first, which made the ticket.
func TestBuy_DoubtBeginsWithTheFirstAttempt(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		switch n {
		case 0, 2:
			drop(w, req)
		case 1:
			time.Sleep(5 * time.Second)
			status(w, 200, list())
		default:
			status(w, 200, list(queued("t1", 5*time.Second)))
		}
	}, func(r *rig) {
		got, err := r.buy("")
		wantTicket(t, got, err, "t1")
		r.asked(post, mine, post, mine)
	})
}

func TestBuy_ExpiredTokenLeavesTheDoubt(t *testing.T) {
	play(t, Config{}, func(n int, w http.ResponseWriter, req *http.Request) {
		if n == 0 {
			drop(w, req)
		}
		refuse(w, 401, Unauthenticated, "", nil)
	}, func(r *rig) {
		_, err := r.buy("")
		if refused := wantRefusal(t, err, Unauthenticated); !errors.Is(err, ErrUnknown) {
			t.Errorf("%v hides that a ticket may be there: %v", refused, err)
		}
		r.asked(post, mine)
	})
}

func TestBuy_RefusalsSayWhatTheGatewaySaid(t *testing.T) {
	opens := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for name, c := range map[Name]struct {
		code    int
		members map[string]any
		check   func(*Refusal) bool
	}{
		NotOpen:        {409, map[string]any{"opens_at": opens}, func(r *Refusal) bool { return r.OpensAt.Equal(opens) && r.RetryAfter == 7*time.Second }},
		Closed:         {409, linked, func(r *Refusal) bool { return r.Status == 409 && r.Title == "T" && r.Detail == "D" }},
		LimitReached:   {409, linked, func(*Refusal) bool { return true }},
		NotEligible:    {403, map[string]any{"reason": "account_too_young"}, func(r *Refusal) bool { return r.Reason == "account_too_young" }},
		InvalidRequest: {400, map[string]any{"field": "Idempotency-Key"}, func(r *Refusal) bool { return r.Field == "Idempotency-Key" }},
		NoSuchSale:     {404, nil, func(*Refusal) bool { return true }},
		Rejected: {409, map[string]any{"reason": "surplus", "ticket": queued("t1", 0)}, func(r *Refusal) bool {
			return r.Ticket != nil && r.Ticket.Ticket == "t1" && r.Reason == "surplus"
		}},
		"": {418, map[string]any{"type": 5}, func(r *Refusal) bool { return r.Status == 418 }},
	} {
		t.Run(string(name), func(t *testing.T) {
			play(t, Config{}, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, c.code, name, "7", c.members) }, func(r *rig) {
				_, err := r.buy("")
				if refused := wantRefusal(t, err, name); !c.check(refused) {
					t.Errorf("refusal %+v", refused)
				}
				r.asked(post)
			})
		})
	}
}
