package funnel

import (
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// Verifier says whom a bearer token belongs to. It does no I/O.
type Verifier interface {
	Verify(token string, now time.Time) (auth.Identity, error)
}

// Requester is who a request says it is of.
type Requester struct {
	User  string // whom a trusted proxy names; "" if none did
	Token string // else the bearer token
}

// Identify believes the proxy, else the token. Whom a proxy names has no claims: a sale
// that asks for some is not for them.
func (r Requester) Identify(v Verifier, now time.Time) (auth.Identity, error) {
	if r.User != "" {
		return auth.Identity{UserID: r.User}, nil
	}
	return v.Verify(r.Token, now)
}

// identify is the layer that knows who is asking.
func (f *Funnel) identify(who Requester, now time.Time) (auth.Identity, Result) {
	f.exits.Enter(sale.LayerToken)
	id, err := who.Identify(f.verifier, now)
	if err != nil {
		return id, Result{Outcome: sale.Unauthenticated, Layer: sale.LayerToken}
	}
	return id, Result{}
}
