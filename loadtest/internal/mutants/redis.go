package mutants

// ridCheckOff: the reserve script meets a rid that it has decided. Three things in it know
// the rid again, one behind the other: its ticket, what its key is bound to, and who has
// the slot. All of them are gone, and nobody else is taken for it: another attempt of the
// same buyer finds the key and the slot taken as before.
func ridCheckOff() Mutation {
	const script = "lua/reserve.lua"
	return Mutation{
		Name: "rid_check_off", Protection: "idempotent reserve", Row: "38", Finds: []string{"I3", "I4", "I5"},
		Takes: "reserve.lua does not know a rid again, and takes a unit each time it is executed; the client repeats a call whose reply is lost, as it does by default",
		Seen:  "a unit that nobody has, and a rank without an outcome, for each call that was executed twice",
		edits: []edit{
			{script, "  if tickets[rid] then return held(0, rid) or LOST end\n", ""},
			{script, "  if bound[binding] then return", "  if bound[binding] and bound[binding] ~= rid then return"},
			{script, "redis.call('SISMEMBER', BUYERS, name)) == 1 do", "redis.call('SISMEMBER', BUYERS, name)) == 1 and redis.call('HGET', SLOTS, name) ~= rid do"},
			{"shared/redisstock/client.go", "o := a.server\n\t\to.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true", "o := a.server\n\t\to.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = 3, 1, true"},
		},
	}
}

// runIDCheckOff: a Redis that was started again, or took over, may have lost the last
// seconds of what it acknowledged, and says so by its run id alone.
func runIDCheckOff() Mutation {
	return Mutation{
		Name: "run_id_check_off", Protection: "run-id check", Row: "11", Finds: []string{"I8"},
		Takes: "no script compares the run id of the Redis that executes it with the one in meta, so neither gateways nor workers notice that it was started again",
		Seen:  "Redis comes back without the last of what it wrote, and the sale goes on with what it has; row 12 shows what becomes of that",
		edits: []edit{{"lua/prelude.lua", " and same_process() and whole()", " and whole()"}},
	}
}

// releasedCheckOff: the loop that applies releases does not know whether a call of which
// it had no reply was executed.
func releasedCheckOff() Mutation {
	return Mutation{
		Name: "released_check_off", Protection: "release once a ticket", Row: "16", Finds: []string{"I4", "I5", "I8"},
		Takes: "release.lua does not look whether a ticket is closed already, and gives its unit back each time it is executed",
		Seen:  "Redis has more in stock than Postgres has free",
		edits: []edit{{"lua/release.lua", "  if CLOSED[was] then\n    store(rid, t)\n    return 1\n  end\n", ""}},
	}
}
