package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/shared/sale"
	"sluice/worker/internal/merchants"
)

// oneKey is the only key there is; its bearer has the scope to lock coupons.
type oneKey string

func (k oneKey) Admit(ctx context.Context, shown string) (sale.MerchantKey, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return sale.MerchantKey{}, errors.New("asked without a deadline")
	}
	switch shown {
	case string(k):
		return sale.MerchantKey{Merchant: "acme", Scopes: []sale.Scope{sale.ScopeCouponsLock}}, nil
	case "fault":
		return sale.MerchantKey{}, errors.New("password of db.internal is wrong")
	}
	return sale.MerchantKey{}, merchants.ErrUnknown
}

func TestForMerchant_AdmitsByKeyAndScope(t *testing.T) {
	t.Parallel()
	a := &api{Backing: Backing{Merchants: oneKey("good")}, log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		shown  []string
		scope  sale.Scope
		status int
		part   string
	}{
		"its scope":        {[]string{"Bearer good"}, sale.ScopeCouponsLock, 200, "acme"},
		"any scope":        {[]string{"Bearer good"}, anyScope, 200, "acme"},
		"another scope":    {[]string{"Bearer good"}, sale.ScopeCouponsRefund, 403, "/problems/missing-scope"},
		"another key":      {[]string{"Bearer bad"}, anyScope, 401, "/problems/unauthenticated"},
		"no key":           {nil, anyScope, 401, "/problems/unauthenticated"},
		"two keys":         {[]string{"Bearer good", "Bearer good"}, anyScope, 401, "/problems/unauthenticated"},
		"another scheme":   {[]string{"Basic good"}, anyScope, 401, "/problems/unauthenticated"},
		"a fault":          {[]string{"Bearer fault"}, anyScope, 503, "/problems/unavailable"},
		"a fault, a scope": {[]string{"Bearer fault"}, sale.ScopeQuotes, 503, "/problems/unavailable"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/merchant", nil)
		for _, shown := range c.shown {
			r.Header.Add("Authorization", shown)
		}
		w := httptest.NewRecorder()
		a.forMerchant(c.scope, a.oneMerchant)(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.part) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "db.internal") {
			t.Errorf("%s: tells of the fault: %s", name, w.Body)
		}
	}
}
