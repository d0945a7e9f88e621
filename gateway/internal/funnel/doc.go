// Package funnel takes an attempt through its layers, cheapest first:
//
//	address     what one client address may send                  address.go
//	request     path, key and body are well formed                (httpapi)
//	memory      sold-out, window and pause, without any I/O       memory.go
//	token       who is asking                                     token.go
//	user        what one buyer may send                           user.go
//	eligibility may they ask                                      eligibility.go
//	admission   a bounded rate, and a bounded line for the script admission.go, gate.go, shares.go, line.go
//	reserve     dedupe and deduct, many attempts a call           reserve.go
//	hand over   one JetStream message a reserve call              handover.go
//	instant     the order, if it comes in time                    instant.go
//
// Reserve and hand-over are group commits: attempts of one sale that arrive while
// a call is in flight, up to its acknowledgement, travel together in the next; what
// one reserve call accepted goes out as one message. Nobody waits for company.
//
// What all sales have together, the rate of admission and the places in the lines, is
// divided by weight among those that have attempts: each is sure of its share, and what
// one does not use is there for all.
//
// Trust: an attempt is answered Accepted only after JetStream acknowledged its
// hand-over, and only within Config.PublishTimeout of the reserve call's start.
// Otherwise the outcome is unknown: Unavailable, with the ticket. The reservation
// then stays listed in Redis until a repeated attempt or the worker's sweeper
// hands it over.
package funnel
