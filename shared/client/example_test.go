package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/client"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	buyer, err := client.New(client.Config{BaseURLs: []string{"http://127.0.0.1:8080"}, Token: "the buyer's JWT"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buyer.Close()

	ticket, err := buyer.Buy(ctx, "phone-1111", "")
	var refusal *client.Refusal
	switch {
	case errors.Is(err, client.ErrUnknown): // nobody could be asked: Buy again later, it asks first
	case errors.As(err, &refusal) && refusal.Name == client.SoldOut:
		fmt.Println("sold out; may return:", refusal.MayReturn)
	case err == nil:
		ticket, err = buyer.Await(ctx, ticket) // held by the gateway until there is news
		fmt.Println(ticket.Status, ticket.OrderID, ticket.PayBy, err)
	}
}
