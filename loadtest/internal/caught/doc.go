// Package caught takes protections away, one at a time, and runs the row of the matrix of
// faults that must notice.
//
//	rows, as they are built ─► all pass? ─► each mutation: build ─► its row ─► found what it must?
//
// A mutation is caught when its row finds an invariant broken that it is expected to
// break, and did not find it while the protection was there. That the row fails
// for any other reason is not enough: a stack that does not even start has shown nothing.
package caught
