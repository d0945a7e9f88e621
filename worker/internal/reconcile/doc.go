// Package reconcile compares what the stores say about every sale, puts right what can
// be proven, and says what needs a person.
//
//	look ──► judge ──► look again, until what was seen twice is certain ──► save ──► repair ──► save
//
// It never cries wolf under load. A comparison of two stores counts only when neither
// moved while both were read, and when three looks in a row say the same; what loops are
// there to finish (releases, tickets, handoff) counts only once it has been the same for
// longer than they ever take.
//
// It repairs towards equality or underselling only, by a script that changes nothing
// when anything has moved since the look:
//
//   - A stock above what Postgres has free is lowered at once.
//   - A stock below it is raised only when nothing is under way in any store (no handoff
//     entry, every rank has its outcome, no hand-over unacknowledged, no release or
//     order left to show, equal totals) and the run before saw the same: then every unit
//     that was deducted has its row, and what is missing is explained by none.
//   - A sold-out flag beside a stock is cleared.
//
// Everything else is told and left alone. One process reconciles at a time; a row is
// saved before a repair, and the next run finds what a dead one has left.
package reconcile
