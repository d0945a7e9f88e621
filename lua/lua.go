// Package lua holds the Redis scripts of a sale, one atomic decision a file.
// Every script works on the eleven keys of one sale at one epoch, which share one
// hash tag; the prelude, put in front of each, names them and says how a reply
// begins. The Go side of each script is in the adapter redisstock.
package lua

import (
	_ "embed"
	"strings"
)

// Script is one script as it is sent to Redis.
type Script struct {
	Name   string // as in the file name
	Source string // shebang, prelude, parts, body
}

//go:embed prelude.lua
var prelude string

// The bodies, in the order in which a sale meets them.
var (
	//go:embed fence.lua
	fence string
	//go:embed load.lua
	load string
	//go:embed flip.lua
	flip string
	//go:embed configure.lua
	configure string
	//go:embed allow.lua
	allow string
	//go:embed attempts.lua
	attempts string
	//go:embed reserve.lua
	reserve string
	//go:embed handed_over.lua
	handedOver string
	//go:embed overdue.lua
	overdue string
	//go:embed settle.lua
	settle string
	//go:embed release.lua
	release string
	//go:embed adjust.lua
	adjust string
	//go:embed correct.lua
	correct string
	//go:embed ticket.lua
	ticket string
	//go:embed snapshot.lua
	snapshot string
)

// Scripts, each with a header that gives its purpose, ARGV and reply.
var (
	Fence      = compose("fence", fence)
	Load       = compose("load", load)
	Flip       = compose("flip", flip)
	Configure  = compose("configure", configure)
	Allow      = compose("allow", allow)
	Reserve    = compose("reserve", reserve, attempts)
	HandedOver = compose("handed_over", handedOver)
	Overdue    = compose("overdue", overdue)
	Settle     = compose("settle", settle)
	Release    = compose("release", release)
	Adjust     = compose("adjust", adjust)
	Correct    = compose("correct", correct)
	Ticket     = compose("ticket", ticket)
	Snapshot   = compose("snapshot", snapshot)
)

// All returns every script, for loading them at warm-up.
func All() []Script {
	return []Script{Fence, Load, Flip, Configure, Allow, Reserve, HandedOver, Overdue, Settle, Release, Adjust, Correct, Ticket, Snapshot}
}

// compose puts the prelude, and the parts that are for this script alone, behind the
// shebang line, which Redis wants first.
func compose(name, body string, parts ...string) Script {
	shebang, rest, _ := strings.Cut(body, "\n")
	return Script{Name: name, Source: shebang + "\n" + prelude + strings.Join(parts, "") + rest}
}
