package bench

import (
	"runtime"
	"strconv"
	"sync"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// tokenTTL outlives every bench.
const tokenTTL = 6 * time.Hour

// buyers are distinct buyers' tokens. Every sale may be bought in by all of them.
type buyers []string

// mintBuyers makes the tokens of n buyers, on all cores.
func mintBuyers(s stack.Secrets, n int) (buyers, error) {
	b := make(buyers, n)
	now := time.Now()
	errs := make([]error, runtime.NumCPU())
	var minting sync.WaitGroup
	for part := range errs {
		minting.Go(func() {
			for i := part; i < n && errs[part] == nil; i += len(errs) {
				b[i], errs[part] = auth.Mint([]byte(s.JWTHS256), s.JWTIssuer, s.JWTAudience, "buyer-"+strconv.Itoa(i), sale.Claims{}, now, tokenTTL)
			}
		})
	}
	minting.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// attempts makes one attempt of one buyer after the other for a unit of a sale.
func (b buyers) attempts(saleID string) func(into []byte, i int) []byte {
	head := "POST /v1/sales/" + saleID + "/orders HTTP/1.1\r\nHost: sluice\r\nContent-Length: 0\r\nAuthorization: Bearer "
	return func(into []byte, i int) []byte {
		into = append(into, head...)
		into = append(into, b[i%len(b)]...)
		return append(into, "\r\n\r\n"...)
	}
}

// read appends the request that reads a buyer's ticket; query is "" or begins with ?.
func (b buyers) read(into []byte, t ticket, query string) []byte {
	into = append(into, "GET /v1/tickets/"...)
	into = append(into, t.name...)
	into = append(into, query...)
	into = append(into, " HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer "...)
	into = append(into, b[t.buyer]...)
	return append(into, "\r\n\r\n"...)
}
