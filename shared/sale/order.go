package sale

import "time"

// OrderState is the state of an order row.
type OrderState string

// States of an order.
const (
	OrderPending   OrderState = "pending"
	OrderPaid      OrderState = "paid"
	OrderExpired   OrderState = "expired"
	OrderCancelled OrderState = "cancelled"
	OrderRejected  OrderState = "rejected"
	OrderRefunded  OrderState = "refunded"
)

// TicketStatus is the status that a ticket shows for an order in state s.
func (s OrderState) TicketStatus() Status {
	switch s {
	case OrderPending:
		return StatusConfirmed
	case OrderPaid:
		return StatusPaid
	case OrderExpired:
		return StatusExpired
	case OrderCancelled:
		return StatusCancelled
	case OrderRefunded:
		return StatusRefunded
	case OrderRejected:
	}
	return StatusRejected
}

// HoldsUnit reports whether an order in state s counts against the total. A
// refund without restock is the exception that the row itself records.
func (s OrderState) HoldsUnit() bool { return s == OrderPending || s == OrderPaid }

// Order is the row a worker makes of a reservation; its id is the rid.
type Order struct {
	Reservation
	SaleID      string
	AmountMinor int64 // minor units of Currency
	Currency    string
	State       OrderState
	ShownState  OrderState // what the ticket shows or its hand-over, not yet acknowledged, will make it show; "" if neither
	Reason      Reason     // of a rejected order
	HoldsUnit   bool
	HoldsSlot   bool
	CreatedAt   time.Time // Postgres time
	PayBy       time.Time // Postgres time; zero when nothing is to be paid
	Replaces    string    // the expired order whose late payment this one took; else ""
}

// Release is a ticket to be closed in Redis: a row in Postgres, written in the
// transaction that decided it and repeated until Redis has applied it.
type Release struct {
	RID    string
	SaleID string
	Status Status // the closed status
	Reason Reason
	Give   int64  // units that go back to the stock: 0 or 1
	Holder string // for a duplicate: the rid that holds the slot, else ""
	Slot   SlotRule
}

// SlotRule says what becomes of the slot of a reservation that is let go. Postgres decides
// it with the order: what the sale says may have changed until Redis applies it.
type SlotRule string

// Rules of slots.
const (
	SlotAsSale SlotRule = ""     // as the sale says when Redis applies it
	SlotOpens  SlotRule = "open" // the buyer may buy again
	SlotStays  SlotRule = "stay" // the buyer may not
)
