// Package changes brings a changed sale from Postgres, which has it first, to Redis and to
// the catalogue:
//
//	Postgres (epoch, rev) ──► Redis meta ──► snapshot broadcast, catalogue entry ──► gateways
//	        (allow_rev)   ──► a list beside the one in force ──► swapped in, with its flag
//
// Nothing older replaces anything newer at any step: (epoch, rev) orders entries, the number
// of an allow list orders lists. So whoever changed the sale and any number of workers may
// do this at once, and whoever dies in between is made good by the next one.
package changes
