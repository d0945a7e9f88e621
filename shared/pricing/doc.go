// Package pricing computes what a cart costs under the best combination of its
// coupons, who bears the discounts, and what goes back when a part is refunded. It is
// pure and computes in integers alone: the same input has the same output on every
// machine, in whatever order it comes.
//
//	Cart ─ check ─► basket ─ judge ─► usable coupons ─ greedy, search ─► set ─ apply ─► Quote ─► Charged ─ Back
//	       refused          rejected                                              │
//	                                                            allocation to lines, then to bearers
//
// What the search rests on:
//
//   - A coupon takes less, never more, once others have applied: so what it would take
//     now bounds what it will take.
//   - Goods coupons and those for shipping take nothing from each other. A set of goods
//     coupons is completed by the best coupon for shipping that combines with it, and
//     only goods coupons make the tree: 4,526 sets of 30, where the budget is 20,000.
//   - What is left of a scope is known without its lines from coupons whose scopes lie
//     within it or apart from it. Only those that cross need the lines' own amounts.
package pricing
