package campaign

import (
	"fmt"

	"sluice/loadtest/internal/attack"
	"sluice/shared/sale"
)

// Limit is what kept a campaign from being more, or faster.
type Limit string

// Limits.
const (
	LimitNone        Limit = "none"        // the schedule was kept, nothing refused by overload, and all of it answered
	LimitTool        Limit = "tool"        // senders were late though they were free, or took the machine's cores
	LimitConnections Limit = "connections" // all of them waited for answers while the machine had cores to spare
	LimitServer      Limit = "server"      // it refused by overload, did not answer, or answered late with all cores taken
	LimitMachine     Limit = "machine"     // something else on it took the cores, or the tool so many that it may be either's
	LimitLimits      Limit = "limits"      // the gateways' own, of an address or a buyer, refused more than anything else did
	LimitUnknown     Limit = "unknown"     // nothing was sent, or nobody reported
)

// Shares that decide.
const (
	fullyBusy  = 0.95 // of the machine's cores
	mostlyTool = 0.5  // of the cores that were taken
	muchOf     = 0.25 // of the machine's cores: what shares a full machine with so much has what was left
)

// load is a campaign, or a step of one, as far as it says what the limit was.
type load struct {
	sent       int
	overloaded int // busy or unavailable
	limited    int // too many of one address or buyer
	unanswered int
	late       attack.Lateness
	use        Usage
}

// loadOf counts by outcome.
func loadOf(outcomes map[string]int, late attack.Lateness, use Usage) load {
	l := load{late: late, use: use}
	for outcome, n := range outcomes {
		l.sent += n
		switch outcome {
		case sale.Busy.String(), sale.Unavailable.String():
			l.overloaded += n
		case sale.TooMany.String():
			l.limited += n
		case attack.OutcomeFault:
			l.unanswered += n
		}
	}
	return l
}

// limit says what the limit was, and in words with the figures that show it.
func (l load) limit(connections int) (Limit, string) {
	late, use := l.late, l.use
	cores := fmt.Sprintf("of %d cores the tool took %.2f, the stack %.2f, everything else %.2f", use.CPUs, use.Tool, use.Stack, use.Others())
	byTool := use.full() && use.Tool >= mostlyTool*use.Machine
	refused := (l.overloaded+l.unanswered)*100 > l.sent
	refusals := fmt.Sprintf("%d of %d attempts were answered busy or unavailable, %d not at all", l.overloaded, l.sent, l.unanswered)
	if l.limited > 0 {
		refusals += fmt.Sprintf(", %d too_many", l.limited)
	}
	switch {
	case l.limited*2 > l.sent, l.limited*100 > l.sent && late.Kept() && !refused:
		return LimitLimits, fmt.Sprintf("The gateways' limits of an address or a buyer were the limit: %d of %d attempts were refused too_many; %s; %s.", l.limited, l.sent, lateWords(late), cores)
	case late.Attempts == 0:
		return LimitUnknown, fmt.Sprintf("What the limit was is not known: no sender reported that it sent anything; %s.", cores)
	case (!late.Kept() || refused) && use.Taken():
		return LimitMachine, fmt.Sprintf("Neither the tool nor the server was seen at its limit, for something else took the machine: %s; %s; %s.", cores, lateWords(late), refusals)
	case !late.Kept() && (late.Tool >= late.Connections || byTool):
		return LimitTool, fmt.Sprintf("The tool was the limit, not the server: %s; %s.", lateWords(late), cores)
	case refused:
		return LimitServer, fmt.Sprintf("The server was the limit: %s; %s; %s.", refusals, lateWords(late), cores)
	case late.Kept() && byTool:
		return LimitTool, fmt.Sprintf("The tool took most of the machine: %s. %s.", cores, lateWords(late))
	case late.Kept():
		return LimitNone, fmt.Sprintf("Neither the tool nor the server was the limit: %s; %s.", lateWords(late), cores)
	case use.full() && use.much(use.Tool):
		// An answer that the tool is slow to read keeps its connection as one that is slow to come does.
		return LimitMachine, fmt.Sprintf("The machine was the limit, and whether the tool or the server on it is unclear: all %d connections waited for answers (%s), and %s.", connections, lateWords(late), cores)
	case use.full():
		return LimitServer, fmt.Sprintf("The server was the limit: all %d connections waited for answers (%s), and %s.", connections, lateWords(late), cores)
	default:
		return LimitConnections, fmt.Sprintf("The connections were the limit: all %d waited for answers (%s) while the machine had cores to spare: %s. With more of them (-connections) it may be the server.", connections, lateWords(late), cores)
	}
}

func lateWords(l attack.Lateness) string {
	return fmt.Sprintf("of %d attempts %d were sent late by senders that were free, %d for want of a free connection, at worst by %s", l.Attempts, l.Tool, l.Connections, l.Worst.Round(1e6))
}
