package main

import (
	"flag"
	"regexp"
	"slices"
	"strings"

	"sluice/gateway/internal/client"
	"sluice/shared/service"
)

// identityConfig is what a gateway is told about who is asking, beside buyers' tokens.
type identityConfig struct {
	adminToken string // of operators, on the ops listener
	userHeader string // in which trusted proxies name the user
}

func (c *identityConfig) register(fs *flag.FlagSet) {
	fs.StringVar(&c.adminToken, "admin-token", "", "bearer `secret` of operators on the ops listener, for profiles; at least 32 bytes; without it nobody gets them")
	fs.StringVar(&c.userHeader, "user-header", "", "`header` in which -trusted-proxies name the user that they have authenticated, instead of a token; from elsewhere it is ignored")
}

func (c identityConfig) check(proxies client.Proxies) error {
	if c.adminToken != "" {
		if err := service.CheckSecret("admin-token", c.adminToken); err != nil {
			return err
		}
	}
	switch {
	case c.userHeader == "":
		return nil
	case len(proxies) == 0:
		return service.UsageErrorf("-user-header (%s) needs -trusted-proxies (%s): nobody else is believed", service.Variable("user-header"), service.Variable("trusted-proxies"))
	case !headerName.MatchString(c.userHeader) || slices.ContainsFunc(otherHeaders, func(h string) bool { return strings.EqualFold(h, c.userHeader) }):
		return service.UsageErrorf("-user-header (%s) must be a header of its own, of letters, digits and -, is %q", service.Variable("user-header"), c.userHeader)
	}
	return nil
}

var headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,62}$`)

// otherHeaders mean something else already.
var otherHeaders = []string{
	"Accept-Encoding", "Accept-Language", "Authorization", "Connection", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Idempotency-Key",
	"If-None-Match", "Last-Event-ID", "Trailer", "Transfer-Encoding", "User-Agent", "X-Forwarded-For",
}
