package pacing

import "time"

// shortestHang is how long a transaction runs at least before it counts as hanging: on a
// lock, that is, for a slow database raises the target.
const shortestHang = 250 * time.Millisecond

// activeFor is how long after its last transaction a sale still counts in the shares.
const activeFor = time.Second

// turns says whose transaction begins next. Sales share what the transactions cost by
// weight, by start-time fair queueing: whoever has had least for its weight is next. A
// sale that wants nothing leaves its share to the others, and saves nothing up.
//
// Consumers are shared too, so that a sale whose transactions hang cannot keep all of
// them: once others want, it gets no more than its share, and what hangs counts against
// its own sale alone.
type turns struct {
	max     int // transactions in flight, hanging ones included
	sales   map[string]*line
	virtual float64 // start tag of the last one
}

// line is one sale's.
type line struct {
	saleID  string
	weight  float64
	waiting *Turn
	halved  []*Turn             // of batches in hand that have one more transaction to begin: they come first
	running map[*Turn]time.Time // since when
	finish  float64             // tag of its last transaction
	seenAt  time.Time           // when its last transaction ended
	wellAt  time.Time           // when a transaction was last within the target
	hung    bool                // its last transaction did, while another sale's were well: the next one counts as hanging from its begin
}

func newTurns(most int) *turns { return &turns{max: most, sales: map[string]*line{}} }

func (t *turns) line(saleID string) *line {
	l := t.sales[saleID]
	if l == nil {
		l = &line{saleID: saleID, weight: 1, running: map[*Turn]time.Time{}}
		t.sales[saleID] = l
	}
	return l
}

// remove forgets a sale that is no longer served, once nothing of it is in flight.
func (t *turns) remove(saleID string) {
	if l := t.sales[saleID]; l != nil && !l.waits() && len(l.running) == 0 {
		delete(t.sales, saleID)
	}
}

// load counts what is in flight and what of it hangs, and who waits.
type load struct {
	running, hanging, waiting int
	weight                    float64 // of the sales that wait or run
}

func (t *turns) load(now time.Time, hang time.Duration) (sum load) {
	for _, l := range t.sales {
		sum.running += len(l.running)
		sum.hanging += l.hanging(now, hang)
		if l.waits() {
			sum.waiting++
		}
		if l.waits() || len(l.running) > 0 {
			sum.weight += l.weight
		}
	}
	return sum
}

func (l *line) hanging(now time.Time, hang time.Duration) (n int) {
	if l.hung {
		return len(l.running)
	}
	for _, since := range l.running {
		if now.Sub(since) > hang {
			n++
		}
	}
	return n
}

// next is the sale whose turn it is; nil when nobody may begin.
func (t *turns) next(now time.Time, consumers int, hang time.Duration) *line {
	sum := t.load(now, hang)
	free := consumers - (sum.running - sum.hanging)
	if sum.waiting == 0 || free < 0 || free == 0 && !t.borrowed(sum, consumers) {
		return nil
	}
	var best, over *line // over: whoever has its share already, if nobody else may
	for _, l := range t.sales {
		switch {
		case !l.waits() || !t.may(l, sum, now, consumers, hang):
		case free == 0 && len(l.running) > 0: // what is borrowed is lent to those with none alone
		case sum.waiting > 1 && len(l.running) >= l.share(sum, consumers):
			over = t.earlier(over, l)
		default:
			best = t.earlier(best, l)
		}
	}
	if best == nil {
		return over
	}
	return best
}

// borrowed reports whether a sale has more in flight than its share, which it took while
// nobody else wanted it. Who comes now begins beside it, and does not wait for its end.
func (t *turns) borrowed(sum load, consumers int) bool {
	for _, l := range t.sales {
		if !l.hung && len(l.running) > l.share(sum, consumers) {
			return true
		}
	}
	return false
}

// may reports whether a sale that waits may have one more in flight.
func (t *turns) may(l *line, sum load, now time.Time, consumers int, hang time.Duration) bool {
	n := len(l.running)
	switch {
	case n == 0: // whoever else hangs, the connection beyond the consumers is left
		return sum.running <= t.max
	case l.hanging(now, hang) > 0:
		return sum.waiting == 1 && n < consumers && sum.running < t.max
	default:
		return sum.running < t.max
	}
}

func (l *line) share(sum load, consumers int) int {
	return max(1, int(float64(consumers)*l.weight/sum.weight))
}

func (t *turns) earlier(a, b *line) *line {
	if a == nil {
		return b
	}
	x, y := t.start(a), t.start(b)
	if x < y || x == y && a.saleID < b.saleID {
		return a
	}
	return b
}

func (t *turns) start(l *line) float64 { return max(t.virtual, l.finish) }

func (l *line) waits() bool { return l.waiting != nil || len(l.halved) > 0 }

// take is the turn of the sale that comes next; it waits no more.
func (l *line) take() (turn *Turn) {
	if len(l.halved) > 0 {
		turn, l.halved = l.halved[0], l.halved[1:]
		return turn
	}
	turn, l.waiting = l.waiting, nil
	return turn
}

// begin has a turn of the sale begin, at a cost that correct makes right.
func (t *turns) begin(l *line, turn *Turn, now time.Time, cost float64) {
	l.running[turn], l.seenAt = now, now
	t.virtual = t.start(l)
	l.finish = t.virtual + cost/l.weight
}

func (l *line) correct(more float64) { l.finish += more / l.weight }

// alone reports whether a slow transaction of the sale tells of the sale and not of the
// database: another sale's was well in the meantime.
func (t *turns) alone(l *line, began time.Time) bool {
	for _, other := range t.sales {
		if other != l && other.wellAt.After(began) {
			return true
		}
	}
	return false
}

func (t *turns) anyWaiting() bool {
	for _, l := range t.sales {
		if l.waits() {
			return true
		}
	}
	return false
}

func (t *turns) running() (n int) {
	for _, l := range t.sales {
		n += len(l.running)
	}
	return n
}

// othersWeight is of the sales with work, but for one.
func (t *turns) othersWeight(saleID string, now time.Time) (sum float64) {
	for _, l := range t.sales {
		if l.saleID != saleID && (l.waits() || len(l.running) > 0 || now.Sub(l.seenAt) < activeFor) {
			sum += l.weight
		}
	}
	return sum
}
