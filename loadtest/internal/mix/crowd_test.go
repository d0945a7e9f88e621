package mix

import (
	"math"
	"testing"
)

func TestAt_PartsAreThoseDeclared(t *testing.T) {
	t.Parallel()
	m := Usual()
	c, sales := m.Crowd(), m.Expanded()
	const n = 100_000
	kinds, hot := make(map[Kind]float64), 0.0
	for i := range n {
		a := c.At(i)
		kinds[a.Kind]++
		role := sales[a.Sale].Role
		if want := map[Kind]Role{KindSoldOut: SoldOut, KindEarly: Early}[a.Kind]; want != "" && role != want || want == "" && role != Hot && role != Open {
			t.Fatalf("attempt %d, %+v, is in a sale of role %s", i, a, role)
		}
		if a.Kind == KindBuyer && role == Hot {
			hot++
		}
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %.3f, want about %.2f", what, got, want)
		}
	}
	near("sold out", kinds[KindSoldOut]/n, 0.70)
	near("buyers", kinds[KindBuyer]/n, 0.20)
	near("repeats", kinds[KindRepeat]/n, 0.04)
	near("keyed repeats", kinds[KindKeyedRepeat]/n, 0.04)
	near("early", kinds[KindEarly]/n, 0.02)
	near("hot", hot/kinds[KindBuyer], 0.5)
}

func TestAt_NoBuyerComesTwiceBeforeAllHaveCome(t *testing.T) {
	t.Parallel()
	for _, users := range []int64{1, 2, 1000, 4096, 30_030} {
		m := Usual()
		m.Users = users
		c := m.Crowd()
		seen := make(map[int64]bool)
		for i := range int(users) {
			user := c.user(i)
			if user < 0 || user >= users || seen[user] {
				t.Fatalf("of %d users, attempt %d is of %d again", users, i, user)
			}
			seen[user] = true
		}
	}
}

func TestAt_RepeatsAreOfAnAttemptShortlyBefore(t *testing.T) {
	t.Parallel()
	m := Usual()
	c := m.Crowd()
	type buyer struct{ sale, user int64 }
	last := make(map[buyer]int)
	var repeats, keyed int
	for i := range 20_000 {
		a := c.At(i)
		b := buyer{int64(a.Sale), a.User}
		switch a.Kind {
		case KindBuyer:
			if a.Key >= 0 && a.Key != int64(i) {
				t.Fatalf("attempt %d has key %d", i, a.Key)
			}
			last[b] = i
		case KindRepeat, KindKeyedRepeat:
			first, found := last[b]
			if !found || i-first > int(m.RepeatWithin)+lookBack {
				t.Fatalf("attempt %d repeats nothing: %+v", i, a)
			}
			if a.Kind == KindRepeat {
				repeats++
			} else {
				keyed++
			}
			if want := c.At(first); a.Key != want.Key || (a.Kind == KindKeyedRepeat) != (a.Key >= 0) {
				t.Fatalf("attempt %d, %+v, repeats %+v", i, a, want)
			}
		case KindSoldOut, KindEarly:
		}
	}
	if repeats < 500 || keyed < 500 {
		t.Errorf("%d repeats, %d with a key", repeats, keyed)
	}
}

func TestAt_SameDeclarationSameCrowdAnotherSeedAnother(t *testing.T) {
	t.Parallel()
	m := Usual()
	a, b := m.Crowd(), m.Crowd()
	m.Seed++
	other, same := m.Crowd(), 0
	for i := range 1000 {
		if a.At(i) != b.At(i) || a.Draw(i, 7) != b.Draw(i, 7) {
			t.Fatalf("attempt %d differs", i)
		}
		if a.At(i) == other.At(i) {
			same++
		}
	}
	if same > 700 || a.UserID(1) == other.UserID(1) {
		t.Errorf("another seed: %d of 1000 attempts are the same, buyer %s", same, other.UserID(1))
	}
}

func TestAt_HoldsNothing(t *testing.T) {
	c := Usual().Crowd()
	i := 0
	if n := testing.AllocsPerRun(1000, func() { c.At(i); i++ }); n != 0 {
		t.Errorf("%v allocations an attempt", n)
	}
}

func BenchmarkAt(b *testing.B) {
	crowd := Usual().Crowd()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		crowd.At(i)
	}
}
