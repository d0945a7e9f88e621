package sale

// LoadTicket is a ticket as a load writes it.
type LoadTicket struct {
	Ticket
	HoldsSlot bool
}

// Live is what an epoch starts with, beside its tickets.
type Live struct {
	Entry                                 Entry // configuration; Entry.Epoch is the epoch that goes live
	Total, Stock                          int64 // units
	Rank, Accepted, Served, Unpaid, Given int64 // counters, see Snapshot
}

// LoadParts takes what a load reads, in this order and each list in pages, so that a
// large sale is never in memory as a whole. An error ends the load.
type LoadParts struct {
	Live     func(Live) error // once
	Allow    func(users []string) error
	Adjusted func(adjustments []Adjustment) error // those that Live.Total has
	Tickets  func(tickets []LoadTicket) error     // in order of rank
}
