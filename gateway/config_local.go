package main

import (
	"flag"
	"net/url"
	"strings"

	"sluice/gateway/internal/client"
	"sluice/gateway/internal/web"
	"sluice/shared/service"
)

// localShop is whether the page may be tried without a shop around it: anybody is signed in,
// and paying costs nothing. It is for a machine of one's own.
type localShop struct {
	workers    string // base urls of checkout listeners, with commas between
	webhookKey string
}

func (l *localShop) register(fs *flag.FlagSet) {
	fs.StringVar(&l.workers, "local-shop-workers", "", "base `urls`, with commas between, of workers that the page's local pay button reports to; with it anybody may sign in as anybody, so only where -listen is loopback")
	fs.StringVar(&l.webhookKey, "local-shop-webhook-key", "", "`secret` that those workers know payments by (their -webhook-key)")
}

func (l *localShop) check(listen string, proxies client.Proxies, tokens service.TokenFlags) error {
	switch {
	case l.workers == "" && l.webhookKey == "":
		return nil
	case l.workers == "":
		return service.UsageErrorf("-local-shop-webhook-key (%s) is nothing without -local-shop-workers (%s)", service.Variable("local-shop-webhook-key"), service.Variable("local-shop-workers"))
	case !web.IsLoopback(listen):
		return service.UsageErrorf("-local-shop-workers (%s) lets anybody sign in as anybody: it needs -listen on loopback, not %s", service.Variable("local-shop-workers"), listen)
	case len(proxies) > 0: // they bring others to loopback, under a name of loopback if they like
		return service.UsageErrorf("-local-shop-workers (%s) lets anybody sign in as anybody: not behind -trusted-proxies (%s)", service.Variable("local-shop-workers"), service.Variable("trusted-proxies"))
	case tokens.Key == "":
		return service.UsageErrorf("-local-shop-workers (%s) needs -jwt-hs256 (%s) to sign tokens with", service.Variable("local-shop-workers"), service.Variable("jwt-hs256"))
	}
	for _, worker := range l.list() {
		if u, err := url.Parse(worker); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return service.UsageErrorf("-local-shop-workers (%s) must be http URLs, %q is none", service.Variable("local-shop-workers"), worker)
		}
	}
	return service.CheckSecret("local-shop-webhook-key", l.webhookKey)
}

func (l *localShop) list() []string { return strings.Split(l.workers, ",") }

// shop is what the API serves of it; nil when it is off.
func (l *localShop) shop(tokens service.TokenFlags) *web.Local {
	if l.workers == "" {
		return nil
	}
	return &web.Local{TokenKey: []byte(tokens.Key), Issuer: tokens.Issuer, Audience: tokens.Audience, Workers: l.list(), WebhookKey: []byte(l.webhookKey)}
}
