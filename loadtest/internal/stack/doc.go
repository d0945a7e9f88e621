// Package stack runs a whole Sluice on this machine: the three stores, gateways and
// workers, all as child processes on loopback.
//
//	stores ─► warmup migrate ─► warmup apply ─► gateways, workers ─► all ready, announced
//	                                                 ▲      │
//	                                                 └──────┘ whatever dies starts again
//
// What dies, store or program, comes back under the same URL with the same data;
// only its pid changes. The announcement, stack.json, says where everything is. It
// appears when every sale is loaded and every process ready, and goes when the stack
// does. No child outlives this process, however it ends.
package stack
