package stack

import (
	"errors"
	"slices"

	"sluice/shared/faultproxy"
)

// proxies stand before stores, by their names.
type proxies map[string]proxy

type proxy struct {
	*faultproxy.Proxy
	url string // of the store, through it
}

// Proxy returns what stands before a store of Config.Proxied, or before Redis for its
// replica, RedisReplica; else nil.
func (s *Stack) Proxy(store string) *faultproxy.Proxy { return s.proxies[store].Proxy }

// Apart returns what stands between gateways and a store of Config.Apart, else nil.
func (s *Stack) Apart(store string) *faultproxy.Proxy { return s.apart[store].Proxy }

func (s *Stack) startProxies() (err error) {
	if s.proxies, err = s.proxiesOf(s.config.Proxied); err == nil {
		s.apart, err = s.proxiesOf(s.config.Apart)
	}
	return err
}

// proxiesOf starts them. Those started before an error are returned with it.
func (s *Stack) proxiesOf(stores []string) (proxies, error) {
	started := make(proxies)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(stores))) {
		server, err := s.store(name)
		if err != nil {
			return started, err
		}
		p, url, err := faultproxy.StartFor(server.URL())
		if err != nil {
			return started, err
		}
		started[name] = proxy{p, url}
	}
	return started, nil
}

func (p proxies) close() error {
	var errs []error
	for _, one := range p {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// proxiedInfo is Info as workers are to see it.
func (s *Stack) proxiedInfo() Info { return s.proxies.before(s.Info()) }

// gatewayInfo is Info as gateways are to see it.
func (s *Stack) gatewayInfo() Info { return s.apart.before(s.proxiedInfo()) }

func (p proxies) before(info Info) Info {
	for name, store := range map[string]*StoreInfo{"redis": &info.Redis, "nats": &info.NATS, "postgres": &info.Postgres} {
		if one, ok := p[name]; ok {
			store.URL = one.url
		}
	}
	return info
}
