package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// tokenFlags say whose token to mint, and how.
type tokenFlags struct {
	key, keyFile, kid string
	issuer, audience  string
	user              string
	ttl               time.Duration
	accountCreatedAt  int64 // unix seconds, 0 to leave it out
	paidOrders        int64
	tags              string
}

func runToken(_ context.Context, in input) error {
	var f tokenFlags
	fs := newFlags(in, "token", "")
	fs.StringVar(&f.key, "jwt-hs256", "", "`secret` that gateways verify tokens with (HS256), at least 32 bytes")
	fs.StringVar(&f.keyFile, "key-file", "", "`file` with a private key in PEM, to sign with instead: RSA (RS256), P-256 (ES256) or Ed25519 (EdDSA)")
	fs.StringVar(&f.kid, "kid", "", "`name` of that key in the JWKS file of gateways, if it has one")
	fs.StringVar(&f.issuer, "jwt-issuer", "", "`issuer` that gateways ask for")
	fs.StringVar(&f.audience, "jwt-audience", "", "`audience` that gateways ask for")
	fs.StringVar(&f.user, "user", "", "`id` of the buyer")
	fs.DurationVar(&f.ttl, "ttl", time.Hour, "how long the token is valid")
	fs.Int64Var(&f.accountCreatedAt, "account-created-at", 0, "when the account was created, in unix `seconds`; 0 leaves it out")
	fs.Int64Var(&f.paidOrders, "paid-orders", 0, "`number` of orders the buyer has paid")
	fs.StringVar(&f.tags, "tags", "", "`tags` of the buyer, separated by commas")
	if err := service.Parse(fs, in.args, in.getenv); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	key, err := f.signingKey()
	if err != nil {
		return err
	}
	token, err := key.Token(f.issuer, f.audience, f.user, f.claims(), time.Now(), f.ttl)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.stdout, token)
	return err
}

func (f tokenFlags) check() error {
	switch {
	case f.user == "":
		return missing("user", "name the buyer")
	case f.key == "" && f.keyFile == "":
		return missing("jwt-hs256", "give the secret that gateways verify with, or a -key-file")
	case f.issuer == "":
		return missing("jwt-issuer", "name the issuer that gateways ask for")
	case f.audience == "":
		return missing("jwt-audience", "name the audience that gateways ask for")
	case f.ttl <= 0:
		return service.UsageErrorf("-ttl (%s) must be positive, is %v", service.Variable("ttl"), f.ttl)
	case f.accountCreatedAt < 0 || f.paidOrders < 0:
		return service.UsageErrorf("-account-created-at and -paid-orders must not be negative")
	}
	return nil
}

// signingKey is the private key of the file, if one is named, else the secret.
func (f tokenFlags) signingKey() (auth.SigningKey, error) {
	if f.keyFile == "" {
		return auth.Secret([]byte(f.key))
	}
	text, err := os.ReadFile(f.keyFile)
	if err != nil {
		return auth.SigningKey{}, fmt.Errorf("cannot read the private key: %w", err)
	}
	key, err := auth.ParsePrivateKey(text, f.kid)
	if err != nil {
		return auth.SigningKey{}, fmt.Errorf("cannot read the private key of %s: %w", f.keyFile, err)
	}
	return key, nil
}

func (f tokenFlags) claims() sale.Claims {
	claims := sale.Claims{PaidOrders: f.paidOrders, Tags: splitList(f.tags)}
	if f.accountCreatedAt > 0 {
		claims.AccountCreatedAt = time.Unix(f.accountCreatedAt, 0)
	}
	return claims
}
