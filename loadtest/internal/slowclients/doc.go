// Package slowclients measures what clients notice while many others are slow on purpose:
// connections that say nothing, trickle their header or their body a byte a second,
// or do not read their answers.
//
//	round 1: quiet · slow from many addresses · slow from one
//	round 2: quiet · slow from many addresses · slow from one
//	…
//
// Honest clients send attempts at a rate that the gateway bears easily, over
// connections that they keep and over new ones. What counts is the p99 of their
// latency beside that of the same round's quiet stage: the machine drifts. The slow
// ones are a process of their own, which needs as many descriptors as the gateway.
package slowclients
