package jetqueue

import (
	"fmt"

	"sluice/shared/sale"
)

// validate refuses a hand-over that no reserve call can have made.
func validate(h sale.HandOver) error {
	if err := sale.ValidateID(h.SaleID); err != nil {
		return err
	}
	n := len(h.Reservations)
	switch {
	case h.Epoch < 1:
		return fmt.Errorf("epoch %d is below 1", h.Epoch)
	case h.PriceMinor < 0:
		return fmt.Errorf("price %d is negative", h.PriceMinor)
	case !validCurrency(h.Currency):
		return fmt.Errorf("currency %q is not three capital letters", h.Currency)
	case n < 1 || n > sale.MaxHandOver:
		return fmt.Errorf("a hand-over has 1 to %d reservations, this one %d", sale.MaxHandOver, n)
	}
	for i := range h.Reservations {
		if err := validateReservation(&h.Reservations[i]); err != nil {
			return fmt.Errorf("reservation %d: %w", i, err)
		}
	}
	return nil
}

func validateReservation(r *sale.Reservation) error {
	if err := sale.ValidateRID(r.RID); err != nil {
		return err
	}
	if err := sale.ValidateUserID(r.UserID); err != nil {
		return err
	}
	switch year := r.AcceptedAt.Year(); {
	case r.Slot < 1 || r.Slot > sale.MaxPerUserLimit:
		return fmt.Errorf("slot %d is not in 1..%d", r.Slot, sale.MaxPerUserLimit)
	case r.Rank < 1:
		return fmt.Errorf("rank %d is below 1", r.Rank)
	case !validKey(r.Key):
		return fmt.Errorf("idempotency key %q is not up to 64 printable ASCII characters", r.Key)
	case year < 2000 || year > 9999:
		return fmt.Errorf("accepted at %v, which no clock can have said", r.AcceptedAt)
	}
	return nil
}

// validCurrency accepts none too: a coupon costs nothing.
func validCurrency(c string) bool {
	if c == "" {
		return true
	}
	for i := range len(c) {
		if c[i] < 'A' || c[i] > 'Z' {
			return false
		}
	}
	return len(c) == 3
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) <= 64
}
