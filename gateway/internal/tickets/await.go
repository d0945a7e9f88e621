package tickets

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// Await reads a ticket until it is enough or the time is up, and returns what it
// read last. When too many wait already, or the gateway drains, it reads once.
// enough must do no I/O: it is asked again whenever the sale's progress moves.
func (r *Reader) Await(s *catalog.Sale, ref Ref, enough func(sale.Ticket) bool, within time.Duration) (sale.Ticket, error) {
	f, ok := r.Follow(s, ref)
	if !ok {
		return r.One(s, ref)
	}
	defer f.Leave()
	return f.Next(enough, within)
}
