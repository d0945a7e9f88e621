package main

import (
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// merchantKey makes a key that every worker of the world knows within a second.
func (w *world) merchantKey(merchant string, scopes ...sale.Scope) (shown string) {
	w.t.Helper()
	shown, kept := auth.NewMerchantKey(merchant, scopes)
	w.must(w.store.CreateMerchantKey(w.context(), sale.Actor{Who: "test"}, kept))
	return shown
}

func TestMerchant_KeyIsGoodUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	p := w.startWorker("")
	buyers, _ := w.urlsOf(p)
	ask := func(shown string) answer {
		return w.ask(buyers, "GET", "/v1/merchant", "", "Authorization: Bearer "+shown)
	}
	shown := w.merchantKey("acme", sale.ScopeCouponsLock, sale.ScopeQuotes)
	w.eventually("the key is known", func() bool { return ask(shown).status == 200 })
	w.wantAnswer(ask(shown), 200, `{"merchant":"acme","scopes":["coupons:lock","quotes"],"created_at":"`)

	buyer, err := auth.Mint([]byte(testKey), testIssuer, testAudience, "ann", sale.Claims{}, time.Now(), time.Minute)
	w.must(err)
	stranger, _ := auth.NewMerchantKey("acme", sale.Scopes())
	for _, other := range []string{"", "sk_", stranger, buyer, shown[:len(shown)-1], shown + "0", shown[:20] + stranger[20:]} {
		w.wantAnswer(ask(other), 401, "/problems/unauthenticated")
	}
	w.wantAnswer(w.ask(buyers, "GET", "/v1/merchant", "ann", "Authorization: Bearer "+shown), 401, "/problems/unauthenticated")
	w.wantAnswer(w.ask(buyers, "GET", "/v1/orders", "", "Authorization: Bearer "+shown), 401, "/problems/unauthenticated")
	w.wantAnswer(w.ask(buyers, "POST", "/v1/merchant", "", "Authorization: Bearer "+shown), 405, "/problems/method-not-allowed")

	key, err := auth.ParseMerchantKey(shown)
	w.must(err)
	_, err = w.store.RevokeMerchantKey(w.context(), sale.Actor{Who: "test"}, key.ID)
	w.must(err)
	w.eventually("the key is refused", func() bool { return ask(shown).status == 401 })
	w.stopped(p)
}
