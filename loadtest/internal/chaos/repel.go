package chaos

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"sluice/loadtest/internal/hostile"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

const (
	trustedProxy = "127.9.0.1" // names users in hostile.UserHeader; nobody else is believed

	// edgeSettings are gateways' as they stand in front of the public, but for the limits of
	// attempts: all honest ones have one address here.
	edgeSettings = "SLUICE_MAX_CONNECTIONS_PER_ADDRESS=256 SLUICE_USER_HEADER=" + hostile.UserHeader + " SLUICE_TRUSTED_PROXIES=" + trustedProxy

	hostileSenders = 24 // requests under way at a time
)

// stranger is somebody with a good token, who may leave no trace.
func (r *Round) stranger() (hostile.Target, error) {
	secrets := r.stack.Info().Secrets
	user := "stranger-of-" + r.saleID
	token, err := auth.Mint([]byte(secrets.JWTHS256), secrets.JWTIssuer, secrets.JWTAudience, user, sale.Claims{}, time.Now(), tokenTTL)
	if err != nil {
		return hostile.Target{}, err
	}
	return hostile.Target{Sale: r.saleID, User: user, Token: token, Trusted: trustedProxy,
		Keys: hostile.Keys{JWT: secrets.JWTHS256, Issuer: secrets.JWTIssuer, Audience: secrets.JWTAudience, Webhook: secrets.Webhook}}, nil
}

// repel sends requests to every address, in any order, several at a time, and wants each
// to be refused as it must be. It returns what was answered.
func (r *Round) repel(ctx context.Context, addresses []string, requests []hostile.Request) (all []hostile.Answer) {
	type shot struct {
		address string
		request hostile.Request
	}
	shots := make(chan shot, len(addresses)*len(requests))
	for _, i := range r.random.Perm(cap(shots)) {
		shots <- shot{addresses[i%len(addresses)], requests[i/len(addresses)]}
	}
	close(shots)
	var senders sync.WaitGroup
	var mu sync.Mutex
	for range hostileSenders {
		senders.Go(func() {
			for s := range shots {
				answer, err := hostile.Send(ctx, s.address, s.request)
				if err != nil {
					r.fail("I11", "%s: %v", s.request.Name, err)
					continue
				}
				if differs := s.request.Differs(answer); differs != "" {
					r.fail("I11", "%s: %s: %.200s", s.request.Name, differs, answer.Body)
				}
				mu.Lock()
				all = append(all, answer)
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	return all
}

// gatewayAddresses are host:port of all gateways.
func (r *Round) gatewayAddresses() (all []string, err error) {
	for _, g := range r.stack.Info().Gateways {
		address, err := addressOf(g.URL)
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, nil
}

// workerAddresses are host:port of where workers answer buyers and the payment provider.
func (r *Round) workerAddresses() (all []string, err error) {
	for _, w := range r.stack.Info().Workers {
		address, err := addressOf(w.URL)
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, nil
}

func addressOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("cannot read the URL of a process: %w", err)
	}
	return u.Host, nil
}

// megabytes is how much of requests somebody took.
func megabytes(answers []hostile.Answer) (sum int64) {
	for _, a := range answers {
		sum += a.Sent
	}
	return sum >> 20
}
