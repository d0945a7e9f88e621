package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/client"
	"sluice/gateway/internal/httpapi"
	"sluice/shared/connections"
	"sluice/shared/service"
)

// shutdownTimeout bounds how long requests in flight may take to finish.
const shutdownTimeout = 10 * time.Second

// places are the connections that buyers may have.
func (g *gateway) places() *connections.Places {
	full, tooMany := httpapi.RefusedConnections()
	proxies := g.config.limits.proxies
	return connections.New(connections.Config{Most: g.config.maxConnections, PerAddress: g.config.limits.perAddress,
		Full: full, TooMany: tooMany, Client: func(address netip.Addr) netip.Addr {
			if proxies.Trusts(address) {
				return netip.Addr{}
			}
			return client.Network(address)
		}}, g.registry)
}

// serve answers buyers until ctx ends, then drains: unready first, serve on while
// whoever routes requests here notices, finish what is in flight.
func (g *gateway) serve(ctx context.Context, api *httpapi.API, health *service.Health, warm *warmUp) error {
	listener, err := net.Listen("tcp", g.config.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (flag -listen): %w", g.config.listen, err)
	}
	places := g.places()
	defer places.Wait()
	server := httpapi.NewServer(api, g.config.maxConnections)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(places.Listen(newPatient(listener, g.registry, g.log))) }()
	warm.listening.Done()
	g.log.Info("gateway serves", "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve on %s: %w", g.config.listen, err)
	case <-ctx.Done():
	}
	g.log.Info("gateway drains", "seconds", g.config.drain.Seconds())
	health.Drain()
	api.Drain()
	g.waiters.Drain()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve on %s: %w", g.config.listen, err)
	case <-time.After(g.config.drain):
	}
	return shutDown(server, listener, failed)
}

// shutDown finishes what is in flight and ends the serving. A server that has not begun by
// then does not hear of it, and ends by its listener.
func shutDown(server *fasthttp.Server, listener net.Listener, served <-chan error) error {
	deadline, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.ShutdownWithContext(deadline); err != nil {
		return fmt.Errorf("cannot finish requests in flight: %w", err)
	}
	_ = listener.Close() // closed already, but for that
	return <-served
}
