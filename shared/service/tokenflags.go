package service

import "flag"

// minSecret is the shortest secret taken, in bytes: as long as what HS256 makes of it.
const minSecret = 32

// TokenFlags are the flags by which a process knows buyers' tokens.
type TokenFlags struct {
	Key, Issuer, Audience string
}

// Register adds the flags to fs.
func (t *TokenFlags) Register(fs *flag.FlagSet) {
	fs.StringVar(&t.Key, "jwt-hs256", "", "`secret` that buyers' tokens are signed with (HS256), at least 32 bytes")
	fs.StringVar(&t.Issuer, "jwt-issuer", "", "`issuer` that tokens must name")
	fs.StringVar(&t.Audience, "jwt-audience", "", "`audience` that tokens must name")
}

// Check refuses what is missing.
func (t *TokenFlags) Check() error {
	if err := CheckSecret("jwt-hs256", t.Key); err != nil {
		return err
	}
	for _, named := range []struct{ flag, value string }{{"jwt-issuer", t.Issuer}, {"jwt-audience", t.Audience}} {
		if named.value == "" {
			return UsageErrorf("-%s (%s) is missing: buyers' tokens must name it", named.flag, Variable(named.flag))
		}
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
