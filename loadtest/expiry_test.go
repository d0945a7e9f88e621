package main

import (
	"context"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	expiryUnits  = 100
	expiryBuyers = 200 // sent within a quarter of the time to pay, so that nothing expires under way
	expiryRate   = 400 // attempts a second
)

func TestExpiry_WhatExpiredIsSoldAgainToTheSameBuyers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := openSale(ctx, t, expiryUnits, "2s", expiryBuyers, stack.Config{Gateways: 2, Workers: 2})
	var winners record.Winners
	s.sellsAll(ctx, &winners)
	old := winners.All()
	s.untilSoldAgain(ctx)
	s.sellsAll(ctx, &winners) // the same buyers, winners too
	s.readExpired(ctx, &winners, old)
	s.untilSoldAgain(ctx)
	e := s.rest(ctx, winners.Seen(), time.Minute)
	if e.Held != 0 || len(e.Orders) != 2*expiryUnits || len(e.Releases) != 2*expiryUnits {
		t.Errorf("%d held, %d orders, %d releases", e.Held, len(e.Orders), len(e.Releases))
	}
}

func (s *scene) sellsAll(ctx context.Context, winners *record.Winners) {
	s.t.Helper()
	if n := s.attackFrom(ctx, winners, 0, expiryBuyers, expiryRate); n[0]+n[1] != expiryUnits {
		s.t.Errorf("%v accepted by the gateways, of %d units", n, expiryUnits)
	}
}

// untilSoldAgain waits until every unit has come back and both gateways know.
func (s *scene) untilSoldAgain(ctx context.Context) {
	s.t.Helper()
	buyers := attack.NewBuyers(1, 5*time.Second)
	defer buyers.Close()
	for i := range 2 {
		reader, err := buyers.Buyer(s.tokens[0], true, s.gateway(i))
		s.must(err)
		s.until(ctx, "the units are sold again", func() bool {
			state, _, err := s.stores.Redis.Snapshot(ctx, s.saleID, 1)
			s.must(err)
			shown, err := reader.Sale(ctx, s.saleID)
			s.must(err)
			return state.Stock == expiryUnits && shown.State == sale.StateOpen
		})
	}
}

// readExpired reads the old tickets of buyers who have tried again since.
func (s *scene) readExpired(ctx context.Context, winners *record.Winners, old []record.Winner) {
	s.t.Helper()
	buyers := attack.NewBuyers(4, 5*time.Second)
	defer buyers.Close()
	for i, won := range old {
		reader, err := buyers.Buyer(s.tokens[won.Buyer], true, s.gateway(i))
		s.must(err)
		ticket, err := reader.Await(ctx, client.Ticket{Ticket: won.Ticket})
		if err != nil || ticket.Status != sale.StatusExpired {
			s.t.Errorf("old ticket of buyer %d: %s, %v", won.Buyer, ticket.Status, err)
		}
		winners.Status(won.RID, ticket.Status)
	}
}
