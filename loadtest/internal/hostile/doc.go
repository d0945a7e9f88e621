// Package hostile makes requests that mean harm or make no sense, sends them byte for byte
// over connections of their own, and knows how each must be answered.
//
//	Bodies       what is no empty JSON object, of 1 byte to 1 GiB
//	Shapes       NUL, long names, doubled headers, requests with two readings
//	Users        user ids that cannot be
//	Events       what is no event of the payment provider
//	Identities   somebody else's name, without a token of theirs
//	Tickets      forged ones and somebody else's
//
// None of them may leave a trace. Every name of a user, key or event that they carry has
// the attacker's name in it, so that one is found wherever it was written.
package hostile
