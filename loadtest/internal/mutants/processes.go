package mutants

// flagVersionOff: of two things that a gateway hears of a sale, the later one to arrive
// may be the older.
func flagVersionOff() Mutation {
	const file = "gateway/internal/catalog/sale.go"
	return Mutation{
		Name: "flag_version_off", Protection: "versioned flag", Row: "13", Finds: []string{"I9"},
		Takes: "a gateway takes in whatever it hears of a sale, be it older than what it knows",
		Seen:  "buyers are told that a sale in stock is sold out",
		edits: []edit{
			{file, "	if old.NewerThan(snap) {", "	if old.Epoch > snap.Epoch {"},
			{file, "	case old != nil && snap.NewerThan(old.Snapshot):", "	case old != nil:"},
		},
	}
}

// ackBeforeCommit: the loop that looks for lost reservations stands behind it, and hands
// over again what it finds. The row wants that there is nothing to be found. The client
// sends an acknowledgement a moment after it is given: one that never left would be none.
func ackBeforeCommit() Mutation {
	const (
		decide      = "		err := c.decide(work, batch, turn)\n"
		acknowledge = "			c.acknowledge(batch.deliveries)\n"
		andSends    = "		time.Sleep(50 * time.Millisecond)\n"
	)
	return Mutation{
		Name: "ack_before_commit", Protection: "ack after commit", Row: "7", Finds: []string{"I3", "I9"},
		Takes: "a worker acknowledges hand-overs before their orders are committed",
		Seen:  "hand-overs are gone with the worker that had them; the loop that looks for lost reservations finds them in Redis, as long as Redis has them",
		edits: []edit{{"worker/internal/fulfil/consumer.go", decide + "		if err == nil {\n" + acknowledge + "		}\n", acknowledge[1:] + andSends + decide}},
	}
}

// sweeperOff: nobody else looks at what is listed.
func sweeperOff() Mutation {
	return Mutation{
		Name: "sweeper_off", Protection: "sweeper", Row: "1", Finds: []string{"I3", "I9"},
		Takes: "nobody hands over what stays in the handoff list",
		Seen:  "reservations whose gateway died stay without an outcome, and the sale does not come to rest",
		edits: []edit{{"worker/internal/fulfil/sales.go", "	s.running.Go(func() { newSweeper(w).run(ctx) })\n", ""}},
	}
}

// discardOld: the loop that looks for lost reservations stands behind it.
func discardOld() Mutation {
	return Mutation{
		Name: "discard_old", Protection: "DiscardNew", Row: "20", Finds: []string{"I3", "I9", "I12"},
		Takes: "a stream that is full drops its oldest hand-overs to take new ones",
		Seen:  "attempts are answered 202 for hand-overs that a full stream had no room for",
		edits: []edit{{"shared/jetqueue/stream.go",
			"jetstream.DiscardNew,   // refuse, never drop\n		DiscardNewPerSubject: true,\n", "jetstream.DiscardOld,\n"}},
	}
}
