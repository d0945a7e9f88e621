package web

import (
	"context"
	"errors"
	"net"
	"time"

	"sluice/shared/auth"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// Local plays the shop around the page on a machine where things are tried: it signs anybody
// in, and it plays the payment provider.
type Local struct {
	TokenKey         []byte // that tokens are signed with
	Issuer, Audience string
	Workers          []string // their checkout listeners' base urls
	WebhookKey       []byte   // that payments are signed with
}

// What a buyer here is to a sale that asks for it.
const (
	accountAge = 365 * 24 * time.Hour
	paidOrders = 3
	tokenLife  = time.Hour
)

// payTimeout bounds a payment, at one worker after the other.
const payTimeout = 5 * time.Second

// Token is that of a buyer by that name, whose account is a year old and who has paid for
// three orders. Its errors are the name's fault.
func (l *Local) Token(user string, now time.Time) (string, error) {
	if err := sale.ValidateUserID(user); err != nil {
		return "", err
	}
	claims := sale.Claims{AccountCreatedAt: now.Add(-accountAge), PaidOrders: paidOrders}
	return auth.Mint(l.TokenKey, l.Issuer, l.Audience, user, claims, now, tokenLife)
}

// Payment is the event by which the provider reports that an order is paid. It counts once
// however often it is sent: its id is of the order.
func Payment(order string, amountMinor int64, currency string, now time.Time) sale.PaymentEvent {
	return sale.PaymentEvent{EventID: "local-" + order, Type: sale.PaymentSucceeded, OrderID: order, AmountMinor: amountMinor, Currency: currency, OccurredAt: now.UTC()}
}

// Pay has a worker store the event.
func (l *Local) Pay(ctx context.Context, event sale.PaymentEvent) error {
	ctx, cancel := context.WithTimeout(ctx, payTimeout)
	defer cancel()
	provider := client.Provider{Workers: l.Workers, Key: l.WebhookKey}
	var errs []error
	for i := range l.Workers {
		err := provider.Send(ctx, i, event)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// IsLoopback reports whether a listener, or the host of a request, is this machine's alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
