// Package capacity says what a sale takes: how many gateways, shards of Redis, workers,
// how long until the last order, and what binds. It is pure: it is told what operations cost,
// as package costs measures them, and computes.
//
// Each kind of process is a station that work comes to. By the utilisation law
//
//	busy cores = operations a second × CPU seconds of one      (Denning and Buzen 1978)
//
// and nothing is planned to be busier than a part of the time, the utilisation: beyond, waits
// grow without bound. They are those of an M/M/c queue where several cores serve (Erlang C), and
// of an M/G/1 queue where one thing is done after the other (Pollaczek and Khinchine): a shard
// of Redis, the leader of a stream (Kleinrock, Queueing Systems I, 1975, sections 3.5 and 5.6).
//
// What travels together is cheaper: an attempt costs what is its own, and its part of the call
// that carries it. That part is the one coefficient of contention here (Sharing). It is fitted
// with one gateway, and is what more of them cost: each carries fewer attempts at a time.
//
//	one machine   Fit.PredictRush, Fit.PredictRefusals: n gateways and n workers share its cores,
//	              which are the station that binds
//	many          Plan: every kind has machines of its own
package capacity
