package mix

import "math/bits"

// Kind of an attempt.
type Kind uint8

// Kinds of attempts.
const (
	KindSoldOut Kind = iota
	KindBuyer
	KindRepeat
	KindKeyedRepeat
	KindEarly
)

// Attempt is who attempts what.
type Attempt struct {
	Kind Kind
	Sale int   // place in Mix.Expanded
	User int64 // number of the buyer
	Key  int64 // number of the idempotency key; -1 for none
}

// First says that it repeats none.
func (a Attempt) First() bool { return a.Kind != KindRepeat && a.Kind != KindKeyedRepeat }

// Crowd is a mix made ready: At costs well below a microsecond and holds nothing.
type Crowd struct {
	mix    Mix
	upTo   [KindEarly + 1]uint64 // sums of the weights
	roles  map[Role][]int        // places in Mix.Expanded
	stride uint64                // prime to Users, so that all buyers come before one comes again
}

// Crowd makes a mix that Check finds nothing wrong with ready.
func (m Mix) Crowd() *Crowd {
	c := &Crowd{mix: m, roles: make(map[Role][]int)}
	p := m.Attempts
	var sum uint64
	for kind, weight := range []int64{p.SoldOut, p.Buyers, p.Repeats, p.KeyedRepeats, p.Early} {
		sum += uint64(weight)
		c.upTo[kind] = sum
	}
	for i, s := range m.Expanded() {
		c.roles[s.Role] = append(c.roles[s.Role], i)
	}
	for c.stride = 0x9E3779B97F4A7C15 % uint64(m.Users); gcd(c.stride, uint64(m.Users)) != 1; {
		c.stride++
	}
	return c
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// At is the attempt of that number, from 0.
func (c *Crowd) At(i int) Attempt {
	a := Attempt{Kind: c.kindOf(i), Key: -1}
	switch a.Kind {
	case KindRepeat, KindKeyedRepeat:
		return c.repeat(i, a.Kind)
	case KindSoldOut:
		a.Sale, a.User = c.one(c.roles[SoldOut], i), c.user(i)
	case KindEarly:
		a.Sale, a.User = c.one(c.roles[Early], i), c.user(i)
	case KindBuyer:
		return c.first(i)
	}
	return a
}

func (c *Crowd) kindOf(i int) Kind {
	drawn := c.draw(i, 0, c.upTo[KindEarly])
	for kind, upTo := range c.upTo {
		if drawn < upTo {
			return Kind(kind)
		}
	}
	return KindBuyer // not reached: the last sum is all of them
}

// first is a buyer's first attempt. Every other one has a key, of its own number.
func (c *Crowd) first(i int) Attempt {
	a := Attempt{Kind: KindBuyer, User: c.user(i), Key: -1}
	hot, open := c.roles[Hot], c.roles[Open]
	if len(open) == 0 || len(hot) > 0 && c.draw(i, 1, 100) < uint64(c.mix.HotPercent) {
		open = hot
	}
	a.Sale = c.one(open, i)
	if c.keyed(i) {
		a.Key = int64(i)
	}
	return a
}

func (c *Crowd) keyed(i int) bool { return c.draw(i, 2, 2) == 0 }

// lookBack bounds the search for what to repeat: with one first attempt in a hundred, one
// search in thousands finds none.
const lookBack = 1000

// repeat is the attempt of a buyer who was there shortly before, with or without a key.
// Where there was none, which is at the very beginning, it is a first one itself.
func (c *Crowd) repeat(i int, kind Kind) Attempt {
	from := i - 1 - int(c.draw(i, 3, uint64(c.mix.RepeatWithin)))
	for j := from; j >= 0 && j > from-lookBack; j-- {
		if c.kindOf(j) == KindBuyer && c.keyed(j) == (kind == KindKeyedRepeat) {
			a := c.first(j)
			a.Kind = kind
			return a
		}
	}
	return c.first(i)
}

func (c *Crowd) one(of []int, i int) int { return of[c.draw(i, 4, uint64(len(of)))] }

// user is a different one for each of Users attempts in a row.
func (c *Crowd) user(i int) int64 {
	n := uint64(c.mix.Users)
	high, low := bits.Mul64(uint64(i)%n, c.stride)
	_, rest := bits.Div64(high%n, low, n)
	return int64(rest)
}

// draw is a number below n that looks random and is the same every time.
func (c *Crowd) draw(i int, what uint64, n uint64) uint64 {
	// splitmix64
	x := uint64(c.mix.Seed) + 0x9E3779B97F4A7C15*(uint64(i)*8+what+1)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	high, _ := bits.Mul64(x^x>>31, n)
	return high
}

// Draw is a number below n for attempt i, for whatever a sender has to choose beside the
// mix.
func (c *Crowd) Draw(i int, n int) int { return int(c.draw(i, 5, uint64(n))) }

// Follows says whether the ticket that attempt i may win is followed, and whether by
// polling alone.
func (c *Crowd) Follows(i int) (follows, polling bool) {
	return c.draw(i, 6, 100) < uint64(c.mix.FollowPercent), c.draw(i, 7, 100) < uint64(c.mix.PollingPercent)
}
