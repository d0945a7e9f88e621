package pricing

// greedy adds, again and again, the coupon that makes the set best: by its true gain,
// with all of the set priced anew. It begins with the best coupon alone, and so never
// is worse than any.
func (b *basket) greedy() set {
	best := set{payable: b.totalMinor}
	var r running
	for {
		next := best
		for i := range b.usable {
			if !b.admits(&best, i) {
				continue
			}
			if s := b.value(best.with(i), &r); b.better(&s, &next) {
				next = s
			}
		}
		if next == best {
			return best
		}
		best = next
	}
}
