package mutants

const (
	schema = "shared/pgstore/migrations/0001_sales_and_orders.sql"
	orders = "shared/pgstore/orders.go"
)

// epochCheckOff: a rebuild counts what is free once everything that was handed over before
// is ordered. What comes later under the old epoch holds a unit that is sold again.
func epochCheckOff() Mutation {
	return Mutation{
		Name: "epoch_check_off", Protection: "epoch check", Row: "11b", Finds: []string{"I4", "I7", "I8"},
		Takes: "orders are made of hand-overs of older epochs too, whenever they come",
		Seen:  "Redis offers units that are held, and has no tickets of their orders",
		edits: []edit{
			{"shared/pgstore/epochs.go", "d.current = everything, current == d.batch.Epoch", "d.current = everything, current >= d.batch.Epoch"},
			{"shared/pgstore/orders_atonce.go", "SELECT epoch = $2 AND NOT retired", "SELECT epoch >= $2 AND NOT retired"},
		},
	}
}

// releasesKeyOff: of many who cancel an order at once, one has its row; the others find it
// closed when they have waited for it, and the key of its release taken. Both are gone.
func releasesKeyOff() Mutation {
	return Mutation{
		Name: "releases_key_off", Protection: "releases key", Row: "15", Finds: []string{"I4", "I5", "I8"},
		Takes: "a reservation may have any number of releases: their table has no key, and who closes an order does not look whether it is open still",
		Seen:  "the unit of one order goes back several times",
		edits: []edit{
			{schema, "    rid        uuid        PRIMARY KEY,", "    rid        uuid        NOT NULL,"},
			{"shared/pgstore/letgo.go", "FROM chosen WHERE o.id = chosen.id AND o.state = 'pending'", "FROM chosen WHERE o.id = chosen.id"},
		},
	}
}

// stockConditionOff: the CHECK of the stock row stands behind the condition. It keeps the
// units, and takes a surplus for a fault of the moment, which comes again for ever. To have a
// surplus, the run-id check is off too, as in the row.
func stockConditionOff() Mutation {
	return Mutation{
		Name: "stock_condition_off", Protection: "conditional stock update", Row: "12", Finds: []string{"I3", "I9", "alert"},
		Takes: "units are taken whether or not there are so many; and the run-id check, as in the row",
		Seen:  "no oversell: the CHECK of the stock row refuses every batch with a reservation too many, and the sale's consumer pauses; whoever was answered 202 behind it stays without an outcome, nothing is rejected as surplus and the alert for that is silent",
		edits: []edit{{orders, "SET held = held + $2 WHERE sale_id = $1 AND held + $2 <= total`", "SET held = held + $2 WHERE sale_id = $1`"}},
	}.after(runIDCheckOff())
}

// slotIndexOff: Redis keeps a buyer from a second reservation for as long as it remembers
// the first. To have it forget, the run-id check is off too, as in the row.
func slotIndexOff() Mutation {
	return Mutation{
		Name: "slot_index_off", Protection: "partial unique index", Row: "12", Finds: []string{"I2 hold slot"},
		Takes: "any number of orders may hold a slot: its index is not unique; and the run-id check, as in the row",
		Seen:  "buyers whose reservation Redis has forgotten, and who come again, have two orders",
		edits: []edit{{schema, "CREATE UNIQUE INDEX orders_slot", "CREATE INDEX orders_slot"}},
	}.after(runIDCheckOff())
}
