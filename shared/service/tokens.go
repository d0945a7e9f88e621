package service

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/auth"
)

// Tokens verifies buyers' tokens with the keys of flags and of a JWKS file.
type Tokens struct {
	*auth.Verifier
	file *keyFile // nil without one
}

// Open reads the keys. The flags must have passed Check.
func (t *TokenFlags) Open(log *slog.Logger) (*Tokens, error) {
	c := auth.VerifierConfig{Issuer: t.Issuer, Audience: t.Audience, Leeway: t.Leeway, CacheSize: t.Cache}
	for _, key := range []string{t.Key, t.OldKey} {
		if key != "" {
			c.HS256Keys = append(c.HS256Keys, []byte(key))
		}
	}
	opened := &Tokens{}
	var err error
	if t.JWKSFile != "" {
		if opened.file, c.PublicKeys, err = openKeyFile(t.JWKSFile, log); err != nil {
			return nil, UsageErrorf("-jwks-file (%s): %v", Variable("jwks-file"), err)
		}
	}
	if opened.Verifier, err = auth.NewVerifier(c); err != nil {
		return nil, err
	}
	if opened.file != nil {
		opened.file.use = opened.Replace
	}
	return opened, nil
}

// Start exports what becomes of tokens and follows the JWKS file, if there is one, until
// stop, which waits.
func (t *Tokens) Start(reg prometheus.Registerer) (stop func()) {
	t.export(reg)
	if t.file == nil {
		return func() {}
	}
	t.file.register(reg)
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { t.file.follow(ctx) })
	return func() {
		cancel()
		following.Wait()
	}
}

func (t *Tokens) export(reg prometheus.Registerer) {
	for result, count := range map[string]func() float64{
		"cached":   func() float64 { return float64(t.Counts().Cached) },
		"verified": func() float64 { return float64(t.Counts().Verified) },
		"refused":  func() float64 { return float64(t.Counts().Refused) },
	} {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_tokens_total", ConstLabels: prometheus.Labels{"result": result},
			Help: "Buyers' tokens that were shown, by whether they were known, verified anew, or refused.",
		}, count))
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_tokens_remembered", Help: "Verified tokens that are not verified again when they are shown again.",
	}, func() float64 { return float64(t.Counts().Remembered) }))
}
