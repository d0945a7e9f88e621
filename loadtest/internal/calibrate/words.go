package calibrate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/shared/client"
)

// retryAfter is what a gateway tells whom it refuses as busy.
const retryAfter = time.Second

// Summary says what the search found.
func Summary(f Found, c Capacity) []string {
	target := c.Target.String()
	if f.Pass == 0 {
		what := "the server kept neither at"
		if f.Why == Unclear {
			what = "whether the server, the tool or the machine was the limit is unclear at"
		}
		if f.Above == 0 {
			return []string{"No rate was decided: nothing is recommended."}
		}
		return []string{fmt.Sprintf("No rate passed: %s %s attempts a second, the lowest that was decided. Nothing is recommended.", what, count(f.Above))}
	}
	said := fmt.Sprintf("At %s attempts a second p99 of in-stock attempts stayed under %s and nobody was refused by overload, in two tries", count(f.Pass), target)
	switch {
	case f.Above == 0 && f.Ended:
		said += "; it is the highest rate that was to be tried (-most), so the limit was not found"
	case f.Above == 0:
		said += "; no higher rate was tried often enough to decide it, so the limit was not found"
	case f.Why == Unclear:
		said += fmt.Sprintf("; at %s it is unclear whether the server, the tool or what else ran on the machine was the limit, so the server may bear more than was found", count(f.Above))
	default:
		said += fmt.Sprintf("; at %s it did not", count(f.Above))
	}
	if f.Above > 0 && !f.Ended {
		said += "; the search was ended before the two were near each other"
	}
	reached := "All of them reached admission"
	if c.Admission < 0.99*f.Pass {
		reached = fmt.Sprintf("Of those, %s a second reached admission; the others were refused before it, from memory", count(c.Admission))
	}
	if c.OneSale < 0.99*c.Admission {
		reached += fmt.Sprintf("; %s a second were for one sale", count(c.OneSale))
	}
	return []string{said + ".", reached + "."}
}

// nearlyAll of the attempts must reach admission, or the stack was never asked there for
// what an opening asks, when nobody is refused before.
const nearlyAll = 0.95

// lowerBound says why a stack may bear more than was found; nothing if it was seen to fail
// just above it.
func lowerBound(f Found, c Capacity) (why []string) {
	if c.Admission < nearlyAll*f.Pass {
		why = append(why, fmt.Sprintf("this mix sent only %s/s to admission, and the stack was never asked for more there: do not set it for an opening, calibrate without -whole-mix", count(c.Admission)))
	}
	switch {
	case f.Above == 0:
		why = append(why, "no rate failed")
	case f.Why == Unclear:
		why = append(why, fmt.Sprintf("at %s/s it is unclear whether the server was the limit", count(f.Above)))
	case !f.Ended:
		why = append(why, fmt.Sprintf("the search was ended between %s and %s/s", count(f.Pass), count(f.Above)))
	}
	return why
}

// Refusals say what buyers will be refused with these limits.
func (l Limits) Refusals() []string {
	all := l.All()
	twice, _ := l.Begins(2 * all)
	tries, patience := client.Patience(retryAfter)
	var words []string
	if len(l.LowerBound) > 0 {
		words = append(words, fmt.Sprintf("LOWER BOUND: the stack may bear more than these limits let through, for %s.", strings.Join(l.LowerBound, "; ")))
	}
	words = append(words,
		fmt.Sprintf("With %s: %s attempts a second reach Redis through %s, %.0f %% of what was seen to be borne. The limit is each gateway's own: if attempts are spread unevenly, one refuses while another has room.", l.Command(), count(all), l.gateways(), 100*Part),
		fmt.Sprintf("Up to %s a second that come evenly nobody is told busy. Beyond that the rest is, at twice the rate every second attempt, from %s after the flood begins: what was saved in a quiet tenth of a second goes first, and an attempt waits for its turn, %s at most.", count(all), human(twice), l.Wait),
		fmt.Sprintf("Who is refused is told 503 busy with Retry-After: %.0f and the link to their own tickets. Nothing was reserved for this attempt.", retryAfter.Seconds()),
		fmt.Sprintf("Of a crowd that comes at once, %s are let through. The others are told busy, and nobody who is holds a turn: whether a next try is let through is a lottery, won by who comes when there is room. If each comes again as told, the last is through after at least %s for 10,000, %s for 100,000 and %s for 1,000,000 buyers.", count(l.head()), human(l.Through(1e4)), human(l.Through(1e5)), human(l.Through(1e6))),
		fmt.Sprintf("It is over sooner once the units are: in such a crowd 1,000 units are gone %s after the first attempt, 10,000 after %s, and from then on everybody is told sold out, not busy.", human(l.Through(1e3)), human(l.Through(1e4))),
		fmt.Sprintf("The reference client tries up to %d times within %s to %s, and then tells its caller busy: that happens where a crowd of more than %s finds enough units to wait for so long.", tries, human(patience), human(patience+patience/4), count(l.head()+all*patience.Seconds())),
	)
	return append(words, spared...)
}

func (l Limits) gateways() string {
	if l.Gateways == 1 {
		return "1 gateway"
	}
	return fmt.Sprintf("%d gateways", l.Gateways)
}

// spared is what the limits do and do not touch: it follows from the order of the
// funnel's layers alone.
var spared = []string{
	"Not limited by them, because decided before or elsewhere: answers from memory (sold out, closed, not open, paused), the limits of an address and of a user (429), bad tokens and who may not buy (401, 403), the list of sales, and every read of tickets, tickets/me included.",
	"Limited like first attempts: repeated clicks and retries of buyers who have a ticket already. They take a turn too and may be told busy; their ticket stays what it is and tickets/me shows it at once.",
	"Sales that have attempts share a gateway's rate by their weight; what one leaves the others may use, up to -admit-sale-rate of any one. So a small sale beside a flooded one is told busy only beyond its own share.",
	"When Redis or NATS is slow, attempts that were let through wait in the line; if -reserve-line of one sale wait, the next is told busy at once, below the rate too.",
}

// count writes a number with its thousands apart, without fractions unless it is small.
func count(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(n, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// human writes a time with two figures.
func human(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.1f min", d.Minutes())
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
