package main

import (
	"flag"

	"sluice/shared/service"
)

// identityConfig is what a gateway is told about who is asking, beside buyers' tokens.
type identityConfig struct {
	adminToken string // of operators, on the ops listener
}

func (c *identityConfig) register(fs *flag.FlagSet) {
	fs.StringVar(&c.adminToken, "admin-token", "", "bearer `secret` of operators on the ops listener, for profiles; at least 32 bytes; without it nobody gets them")
}

func (c identityConfig) check() error {
	if c.adminToken == "" {
		return nil
	}
	return service.CheckSecret("admin-token", c.adminToken)
}
