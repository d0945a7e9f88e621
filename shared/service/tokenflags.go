package service

import (
	"flag"
	"time"

	"sluice/shared/auth"
)

// minSecret is the shortest secret taken, in bytes: as long as what HS256 makes of it.
const minSecret = 32

// TokenFlags are the flags by which a process knows buyers' tokens.
type TokenFlags struct {
	Key, OldKey      string // one of Key and JWKSFile is needed
	JWKSFile         string
	Issuer, Audience string
	Leeway           time.Duration
	Cache            int // verified tokens remembered
}

// Register adds the flags to fs.
func (t *TokenFlags) Register(fs *flag.FlagSet) {
	fs.StringVar(&t.Key, "jwt-hs256", "", "`secret` that buyers' tokens are signed with (HS256), at least 32 bytes")
	fs.StringVar(&t.OldKey, "jwt-hs256-old", "", "`secret` that is believed too, while the shop changes from it to -jwt-hs256")
	fs.StringVar(&t.JWKSFile, "jwks-file", "", "`file` with the public keys that buyers' tokens are signed with (a JWK set: RS256, ES256, EdDSA); changes of it are followed")
	fs.StringVar(&t.Issuer, "jwt-issuer", "", "`issuer` that tokens must name")
	fs.StringVar(&t.Audience, "jwt-audience", "", "`audience` that tokens must name")
	fs.DurationVar(&t.Leeway, "jwt-leeway", 5*time.Second, "how far the issuer's clock may be off, at most 5m")
	fs.IntVar(&t.Cache, "token-cache", 50_000, "verified tokens remembered, about 0.4 KB each, so that they are not verified each time they are shown: those of public keys, and of secrets what is not plain JSON; 0 is none")
}

// Check refuses what is missing.
func (t *TokenFlags) Check() error {
	switch {
	case t.Key == "" && t.OldKey != "":
		return UsageErrorf("-jwt-hs256 (%s) is missing beside -jwt-hs256-old", Variable("jwt-hs256"))
	case t.Key == "" && t.JWKSFile == "":
		return UsageErrorf("-jwt-hs256 (%s) or -jwks-file (%s) is missing: one of them must verify buyers' tokens", Variable("jwt-hs256"), Variable("jwks-file"))
	}
	for _, secret := range []struct{ flag, value string }{{"jwt-hs256", t.Key}, {"jwt-hs256-old", t.OldKey}} {
		if secret.value == "" {
			continue
		}
		if err := CheckSecret(secret.flag, secret.value); err != nil {
			return err
		}
	}
	for _, named := range []struct{ flag, value string }{{"jwt-issuer", t.Issuer}, {"jwt-audience", t.Audience}} {
		if named.value == "" {
			return UsageErrorf("-%s (%s) is missing: buyers' tokens must name it", named.flag, Variable(named.flag))
		}
	}
	if t.Leeway < 0 || t.Leeway > auth.MaxLeeway {
		return UsageErrorf("-jwt-leeway (%s) must be 0 to %v, is %v", Variable("jwt-leeway"), auth.MaxLeeway, t.Leeway)
	}
	if t.Cache < 0 || t.Cache > auth.MostTokens {
		return UsageErrorf("-token-cache (%s) must be 0 to %d, is %d", Variable("token-cache"), auth.MostTokens, t.Cache)
	}
	return nil
}

// CheckSecret refuses a secret that could be guessed.
func CheckSecret(flagName, secret string) error {
	if len(secret) < minSecret {
		return UsageErrorf("-%s (%s) must have at least %d bytes, has %d", flagName, Variable(flagName), minSecret, len(secret))
	}
	return nil
}
