package funnel

import (
	"time"

	"sluice/shared/auth"
)

// Verifier says whom a bearer token belongs to. It does no I/O.
type Verifier interface {
	Verify(token string, now time.Time) (auth.Identity, error)
}
