package mix

import (
	"testing"
	"time"

	"sluice/shared/auth"
)

const tokenKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestTokens_AreBelievedByTheGatewaysVerifier(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tokens, err := NewTokens([]byte(tokenKey), `issuer "one"`, "sluice", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{[]byte(tokenKey)}, Issuer: `issuer "one"`, Audience: "sluice"})
	if err != nil {
		t.Fatal(err)
	}
	c := Usual().Crowd()
	for i := range 100 {
		id := c.UserID(c.At(i).User)
		got, err := verifier.Verify(tokens.Token(id), now)
		if err != nil || got.UserID != id {
			t.Fatalf("%q: %+v, %v", id, got, err)
		}
	}
	if _, err := verifier.Verify(tokens.Token("mix"), now.Add(2*time.Hour)); err == nil {
		t.Error("a token outlives its time")
	}
}

func BenchmarkToken(b *testing.B) {
	tokens, err := NewTokens([]byte(tokenKey), "sluice-up", "sluice", time.Now(), time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	c := Usual().Crowd()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tokens.Token(c.UserID(c.At(i).User))
	}
}
