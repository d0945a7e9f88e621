package pricing

// BestOfAll answers what Best does, by pricing every feasible set anew, and returns how many
// there are. Nothing is left out, taken over from another set or bounded: it is what Best's
// search is measured and tested against. Its cost grows with the fourth power of the
// coupons, without a bound.
func BestOfAll(c Cart) (q Quote, sets int64, err error) {
	b, err := newBasket(&c)
	if err != nil {
		return Quote{}, 0, err
	}
	e := everySet{b: b, best: set{payable: b.totalMinor}, sets: 1} // the empty set
	e.from(set{}, 0)
	q = b.quote(e.best)
	q.Nodes = e.sets
	return q, e.sets, nil
}

// everySet goes through all feasible sets.
type everySet struct {
	b    *basket
	r    running
	best set
	sets int64
}

// from prices each set that has one more coupon than s, from this one on, and goes on
// from there.
func (e *everySet) from(s set, first int) {
	for i := first; i < len(e.b.usable); i++ {
		if !e.b.admits(&s, i) {
			continue
		}
		next := s.with(i)
		e.sets++
		if worth := e.b.value(next, &e.r); e.b.better(&worth, &e.best) {
			e.best = worth
		}
		e.from(next, i+1)
	}
}
