package loop

import (
	"strconv"
	"time"

	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/stack"
)

// tokenTTL outlives every measurement.
const tokenTTL = 6 * time.Hour

// Buyers are distinct buyers' tokens. Every sale may be bought in by all of them.
type Buyers []string

// MintBuyers makes the tokens of n buyers.
func MintBuyers(s stack.Secrets, n int) (Buyers, error) {
	return Mint(s, n, func(buyer int) string { return "buyer-" + strconv.Itoa(buyer) })
}

// Mint makes tokens of n users whose names need no escape in JSON.
func Mint(s stack.Secrets, n int, name func(int) string) ([]string, error) {
	tokens, err := NewTokens(s)
	if err != nil {
		return nil, err
	}
	all := make([]string, n)
	for i := range all {
		all[i] = tokens.Token(name(i))
	}
	return all, nil
}

// NewTokens makes a stack's tokens.
func NewTokens(s stack.Secrets) (*mix.Tokens, error) {
	return mix.NewTokens([]byte(s.JWTHS256), s.JWTIssuer, s.JWTAudience, time.Now(), tokenTTL)
}

// Attempts makes one attempt of one buyer after the other for a unit of a sale.
func (b Buyers) Attempts(saleID string) func(into []byte, i int) []byte {
	head := "POST /v1/sales/" + saleID + "/orders HTTP/1.1\r\nHost: sluice\r\nContent-Length: 0\r\nAuthorization: Bearer "
	return func(into []byte, i int) []byte {
		into = append(into, head...)
		into = append(into, b[i%len(b)]...)
		return append(into, "\r\n\r\n"...)
	}
}
