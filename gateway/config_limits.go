package main

import (
	"flag"

	"sluice/gateway/internal/client"
)

// limits are what a gateway can be told about its clients.
type limits struct {
	proxies client.Proxies
}

func (l *limits) register(fs *flag.FlagSet) {
	fs.Var(&l.proxies, "trusted-proxies", "`networks` and addresses, with commas between, of the proxies in front of this gateway: their X-Forwarded-For says who the client is; from elsewhere it is ignored")
}
