package sale

import "time"

// Result is what a worker tells everybody about one reservation once it is
// decided. It is a hint: whoever needs the truth reads the ticket.
type Result struct {
	RID    string    `json:"rid"`
	Status Status    `json:"status"`
	Reason Reason    `json:"reason,omitempty"`
	PayBy  time.Time `json:"pay_by,omitzero"` // zero when nothing is to be paid
}

// Progress is how far a sale's backlog has been served. It is a hint, repeated
// several times a second: the number of buyers ahead is rank - Served.
type Progress struct {
	SaleID        string  `json:"sale"`
	Epoch         int64   `json:"epoch"`
	Served        int64   `json:"served"` // reservations with an outcome
	RatePerSecond float64 `json:"rate"`   // reservations served a second, lately
	Pace          float64 `json:"pace"`   // orders a second that the telling worker would give the sale now; 0 is paused; unknown when Worker is empty
	Worker        string  `json:"worker"` // random id of the telling process; Pace is this one's alone
}
