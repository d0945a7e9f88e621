// Package console is the on-call page at /console on the ops listener: what a person who
// was woken up needs to see, live, without reloading. It only shows: whoever is signed in
// can change nothing here, and finds the admin API's commands beside what they change.
//
//	sales in Postgres  ── every 3 s ──┐
//	snapshots in Redis ── every 1 s ──┤                     ┌─► stream of a page
//	backlog, pace      ── memory ─────┼─► watch ──► hub ────┼─► stream of a page
//	alerts             ── memory ─────┘      └► history     └─► a slow one is dropped
//
// While no page is open the watch looks every 5 s only, for the charts' sake: a page that
// is opened has the last ten minutes. A page gets everything when it connects, then once a
// second what has changed since (frame.go). What could not be read keeps its last value
// and says since when.
//
// Trust: the admin token is shown once, in a form; a cookie says afterwards that it was
// (session.go). The page is ours and everything on it comes from this listener, which its
// Content-Security-Policy holds it to.
package console
