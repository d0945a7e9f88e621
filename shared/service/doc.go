// Package service is what every process of Sluice does alike: it reads flags and
// environment, logs, answers probes on a listener of its own, and turns the end
// of run into an exit code.
//
// A process is warm once each of its phases was done once, and stays warm. After
// that only draining makes it unready: a slow dependency must not take the whole
// fleet out.
//
//	warming ──(every phase done)──► ready ──(Drain)──► draining
//	   └────────────────(Drain)───────────────────────────▲
//
// Trust: the ops listener is for operators and probes; bind it where only they
// reach it.
package service
