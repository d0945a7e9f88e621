// Package chaos breaks a running sale in every way of the matrix of faults, one row after
// the other, and holds what clients saw against what the stores ended with.
//
//	a new sale ─► load ─► fault ─► hit? ─► heal ─► recovered in its bound? ─► at rest ─► judged
//	              └────── every attempt and ticket is kept in a history ──────────────┘
//
// A row is a file. It says what it breaks, how one sees that the fault hit what it was
// meant for, and how long the sale may take to go on by itself. A round whose fault hit
// nothing has shown nothing, and fails. A control row must show the violation that it
// is named for: it shows that the judge would see it.
//
// Rows share a stack where they can. What a row changes in it, it undoes.
package chaos
