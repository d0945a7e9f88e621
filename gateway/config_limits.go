package main

import (
	"errors"
	"flag"
	"fmt"

	"sluice/gateway/internal/client"
	"sluice/gateway/internal/funnel"
	"sluice/shared/sale"
)

// limits are what a gateway can be told about its clients.
type limits struct {
	proxies       client.Proxies
	address, user funnel.LimitConfig
	perAddress    int // connections
}

func (l *limits) register(fs *flag.FlagSet) {
	l.address.Name, l.user.Name = sale.LayerAddress.String(), sale.LayerUser.String()
	fs.Var(&l.proxies, "trusted-proxies", "`networks` and addresses, with commas between, of the proxies in front of this gateway: their X-Forwarded-For says who the client is; from elsewhere it is ignored")
	fs.Float64Var(&l.address.Rate, "address-rate", 50, "attempts a second of one client address; 0 is unlimited")
	fs.IntVar(&l.address.Burst, "address-burst", 100, "attempts at once of one client address")
	fs.IntVar(&l.address.Clients, "address-clients", 100_000, "client addresses remembered")
	fs.Float64Var(&l.user.Rate, "user-rate", 10, "attempts a second of one buyer, from all addresses; 0 is unlimited")
	fs.IntVar(&l.user.Burst, "user-burst", 20, "attempts at once of one buyer")
	fs.IntVar(&l.user.Clients, "user-clients", 100_000, "buyers remembered for that")
	fs.IntVar(&l.perAddress, "max-connections-per-address", 256, "most public connections of one client address, others are refused; 0 is unlimited, and trusted proxies have no such limit")
}

func (l *limits) check() error {
	err := errors.Join(l.address.Check(), l.user.Check())
	if l.perAddress < 0 {
		err = errors.Join(err, fmt.Errorf("-max-connections-per-address must not be negative, is %d", l.perAddress))
	}
	return err
}

// open makes the limits of attempts; those that are off are nil.
func (l *limits) open() (*funnel.AddressLimit, *funnel.UserLimit, error) {
	address, err := funnel.NewAddressLimit(l.address)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot limit addresses: %w", err)
	}
	user, err := funnel.NewUserLimit(l.user)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot limit users: %w", err)
	}
	return address, user, nil
}
