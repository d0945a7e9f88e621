// Package soak sells for a long time while things break, and looks for what grows.
//
//	sale 1 ──open──┤closed──audited──retired──forgotten
//	   sale 2 ──open──┤closed──audited──retired──…
//	attempts at half of what the stack bears ─► tickets ─► some pay, some too late, some never
//	a fault a minute: what, when and whom is drawn by the seed
//	every few seconds: what each process and each store has in use ─► flat?
//
// Sales are short, retired soon after their end and forgotten, so that whatever a sale
// should leave behind nothing of is seen to grow if it does. What is kept for ever, which is
// rows, grows by what is sold; it is drawn, and not judged.
package soak
