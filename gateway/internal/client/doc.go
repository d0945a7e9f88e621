// Package client says which client a request comes from: the address that connects
// or, if that is one of the proxies that this gateway is told to trust, the one that
// the proxies say they were connected to by.
//
//	X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.0.0.2     connected by 10.0.0.1
//	                 whatever a   the client:   a trusted     a trusted
//	                 client says  not trusted   proxy    ◄──  proxy
//
// Every proxy appends who connected to it, so the list is believed from its end, as
// far as those who wrote it are trusted: what stands further left may be anything.
//
// The package is pure.
package client
