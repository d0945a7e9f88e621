package auth

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/sale"
)

// Names of the optional claims that eligibility is judged by.
const (
	claimAccountCreatedAt = "account_created_at" // unix seconds
	claimPaidOrders       = "paid_orders"        // count
	claimTags             = "tags"               // strings
)

// maxUnix is the last second of the year 9999.
const maxUnix = 253402300799

// readIdentity takes the user and the optional claims from a verified token. A
// claim of the wrong type refuses the token: it must not pass for an absent one.
func readIdentity(claims jwt.MapClaims) (Identity, error) {
	userID, err := claims.GetSubject()
	if err != nil {
		return Identity{}, err
	}
	if err := sale.ValidateUserID(userID); err != nil {
		return Identity{}, fmt.Errorf("claim sub: %w", err)
	}
	id := Identity{UserID: userID}
	if raw, given := claims[claimAccountCreatedAt]; given {
		seconds, err := readInteger(raw, maxUnix)
		if err != nil {
			return Identity{}, fmt.Errorf("claim %s: %w", claimAccountCreatedAt, err)
		}
		id.Claims.AccountCreatedAt = time.Unix(seconds, 0).UTC()
	}
	if raw, given := claims[claimPaidOrders]; given {
		if id.Claims.PaidOrders, err = readInteger(raw, 1<<53); err != nil {
			return Identity{}, fmt.Errorf("claim %s: %w", claimPaidOrders, err)
		}
	}
	if raw, given := claims[claimTags]; given {
		if id.Claims.Tags, err = readStrings(raw); err != nil {
			return Identity{}, fmt.Errorf("claim %s: %w", claimTags, err)
		}
	}
	return id, nil
}

func readInteger(raw any, highest int64) (int64, error) {
	number, ok := raw.(json.Number)
	if !ok {
		return 0, fmt.Errorf("must be an integer")
	}
	n, err := number.Int64()
	if err != nil || n < 0 || n > highest {
		return 0, fmt.Errorf("must be an integer from 0 to %d", highest)
	}
	return n, nil
}

func readStrings(raw any) ([]string, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, fmt.Errorf("must be a list of strings")
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("must be a list of strings")
		}
	}
	return texts, nil
}

// writeClaims is the reverse of readIdentity; what is zero is left out.
func writeClaims(c sale.Claims) jwt.MapClaims {
	claims := jwt.MapClaims{}
	if !c.AccountCreatedAt.IsZero() {
		claims[claimAccountCreatedAt] = c.AccountCreatedAt.Unix()
	}
	if c.PaidOrders != 0 {
		claims[claimPaidOrders] = c.PaidOrders
	}
	if len(c.Tags) > 0 {
		claims[claimTags] = c.Tags
	}
	return claims
}
