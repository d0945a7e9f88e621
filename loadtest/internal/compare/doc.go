// Package compare shows Sluice and other ways to do the same one demand each, on the same
// stores in the same run. What became of it is read from Postgres, by statements that share
// nothing with the product.
//
//	sale      round 1: read_check_insert · Sluice · conditional_update · one_by_one
//	          round 2: conditional_update · read_check_insert · one_by_one · Sluice
//	          …
//	incident  round 1: incident · Sluice
//	          round 2: incident · Sluice
//	          …
//	claims    1,000 · 2,000 · 3,000 a second, on Sluice alone
//	at the end: the audit of every sale
//
// In part sale goods are sold: the same attempts, in the same order, over connections that
// each have one attempt under way. In a round of the incident coupons are given out to a
// crowd that comes all at once: each claimer clicks several times at each template, and
// again when an answer takes too long. The verdict fails for whatever is wrong with what
// Sluice sold or gave out, and for an incident that did not give out too many and doubles:
// a judge that sees nothing there proves nothing here.
//
// A baseline is one file behind the interface Baseline, and its instances.
package compare
