// Package mutants builds gateway, worker and warmup with one protection taken away, to
// show that a row of the matrix of faults would notice.
//
//	sources ─► edits that must each fit exactly once ─► go build -overlay ─► programs
//
// There is no switch for any of this in the product. The sources are left as they are:
// the go command reads the edited files in their place, and only what they change is
// built anew.
package mutants
