package redisstock

import "strconv"

// keys returns the eleven keys of a sale at an epoch, in the order that the scripts'
// prelude names them. meta has no epoch in its name: it says which one is live.
// The braces put a sale on one Cluster shard.
func keys(saleID string, epoch int64) []string {
	tag := "sluice:{" + saleID + "}:"
	at := tag + strconv.FormatInt(epoch, 10) + ":"
	return []string{
		tag + "meta",
		at + "stock",
		at + "buyers",
		at + "slots",
		at + "keys",
		at + "tickets",
		at + "handoff",
		at + "counters",
		at + "allow",
		at + "adjusted",
		at + "allowing",
	}
}

// ticketsKey is the hash of an epoch's tickets, for reading all of them.
func ticketsKey(saleID string, epoch int64) string { return keys(saleID, epoch)[5] }
