package compare

import (
	"fmt"
	"strings"
)

// notes say in words how the figures came about and what they do not say.
func (r *run) notes() []string {
	all := []string{"Buyers, gateways, workers, baselines and stores share one machine over loopback, without TLS. Systems take turns, in rounds."}
	if r.has(PartSale) {
		all = append(all, r.saleNotes()...)
	}
	if r.has(PartIncident) {
		all = append(all, r.roundNotes()...)
	}
	if r.has(PartClaims) {
		all = append(all, r.claimNotes()...)
	}
	return append(all, r.limits...)
}

func (r *run) roundNotes() []string {
	all := []string{
		fmt.Sprintf("There are %s. Three of four claimers send a click when the last is answered, the fourth all clicks for a template at once; each click goes to the next gateway or instance, over connections enough for all that are under way. "+
			"Without an answer within %s a click is sent again, to the next; so it is after a 503. Where a claimer may have several coupons, Idempotency-Keys name which one a click is for; otherwise there is none. "+
			"Latencies are of clicks: from the first request until the answer that stands, closed loop. "+
			"new_coupon: of those that got their claimer a new coupon: every 201 of a baseline, Sluice's 202, and its 200 where an earlier request of the click had no answer or a 503. Every other click for a coupon that the claimer has is a replay, of Sluice's alone: a baseline gives another one.", r.scale(), clickTimeout),
		"Doubles are coupons beyond what their claimer may have of the template. Both numbers, and Sluice's verdict, come from statements on Postgres's tables that share nothing with the product.",
		"db_writes: rows inserted, updated and deleted in the whole database from the first click until nothing more is written, by Postgres's statistics, which know of them some seconds late; with what Sluice's workers do meanwhile, whether or not it is about coupons. " +
			"db_writes_per_s_of_giving_out divides that by the shorter time from the first click until the last coupon (giving_out_s): too high for both, more so for Sluice, which writes on when its coupons are out. Sluice writes an order and a coupon for each claim that it takes, and the state it has shown; it writes nothing for the others.",
	}
	names := make([]string, len(ofCoupons()))
	for i, b := range ofCoupons() {
		names[i] = b.Name()
		all = append(all, b.Notes()...)
	}
	return append(all, fmt.Sprintf("The %s is always first in a round, %s after it: what the machine still does of the first is in the second's figures.", strings.Join(names, ", then the "), sluiceName))
}

func (r *run) claimNotes() []string {
	c := r.Claims
	return []string{
		fmt.Sprintf("claims: an open loop at %s a second for %s, the first %s of it not in the latencies, each claim by one of %d users drawn at random, %.0f %% of them at one hot template of %d, which sells out half-way; "+
			"a latency counts from when the claim was due, so that what waits for a slow answer has waited. in_stock: while there were coupons, as claimers knew; sold_out: afterwards. Answered 202 are accepted, 200 replay, 409 sold_out. "+
			"until_held: of the hot template, from the reservation until the ticket shows the coupon, by Redis's clock; those that a 503 left to the sweeper too. The other templates are the same in all stages.", rates(c.Rates), c.Stage+c.Warm, c.Warm, c.Users, 100*c.HotShare, c.Templates),
		"claims, rows in Postgres: " + strings.Join(r.data, "; ") + ".",
	}
}

func rates(all []int) string {
	words := make([]string, len(all))
	for i, rate := range all {
		words[i] = fmt.Sprint(rate)
	}
	return strings.Join(words, ", ")
}
