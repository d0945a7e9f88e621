// Package calibrate finds the highest rate of attempts at which a stack keeps its
// latency and refuses nobody by overload, recommends limits of admission below it, says
// in words what buyers will then be refused, and tries that out.
//
//	            passes: twice the rate            fails, or is unclear
//	doubling ──────────────────────────┐  ┌──────────────────────────────────► halving
//	   │ fails, or is unclear          │  │ passes                               │
//	   └──────────────────────────► bisecting ◄──────────────────────────────────┘
//	                                   │ the two rates are within the tolerance
//	                                   ▼
//	                      recommend · words · confirm at twice the rate
//
// A machine is noisy, so a rate is decided by the first verdict that two of its tries
// agree on. A try that misses the target while the tool, or what else runs on the machine,
// was the limit says nothing about the server: a rate with two of those is neither passed
// nor failed, and what is found below it is a lower bound.
//
// The search, the judgement of a try, the recommendation and the words are pure; run.go
// attacks.
package calibrate
