// Package catalog is what a gateway knows by heart: which sales there are, and of
// each the newest state it has seen, so that most attempts are refused without
// asking anybody.
//
// A sale's entry comes from the catalogue watch, its snapshot from every script
// reply and from a re-read once a second. Both are versioned, by (epoch, rev) and
// by (epoch, version); an older one never replaces a newer one, so it does not
// matter in which order they arrive:
//
//	unknown ──entry──► cold ──snapshot of the entry's epoch──► warm
//	                    ▲                                       │
//	                    └── newer epoch announced, or Redis says STALE
//
// Trust: nothing here decides in a buyer's favour. A warm sale may refuse; only
// the reserve script accepts.
package catalog
