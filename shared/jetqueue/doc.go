// Package jetqueue keeps hand-overs and the catalogue in NATS JetStream and
// carries hints over core NATS.
//
//	stream SLUICE_ORDERS, subject sluice.orders.SALE    hand-overs, durable
//	bucket SLUICE_SALES, key SALE                       the catalogue, durable
//	subject sluice.results.SALE, sluice.progress.SALE   hints, may be lost
//
// A hand-over's way:
//
//	Publish ──► stored ──► Fetch ──► Ack
//	                ▲         │
//	                └─────────┴── NakAfter, or the ack wait passed
//
// Trust: the stream may repeat a hand-over and may deliver it late, it never
// decides anything. What makes a repetition harmless is the rid in Postgres;
// therefore messages carry no id and the stream deduplicates nothing. A full
// stream refuses a hand-over, it never drops an older one.
package jetqueue
