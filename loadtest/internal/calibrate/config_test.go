package calibrate

import (
	"testing"

	"sluice/loadtest/internal/mix"
)

// At an opening nobody is refused from memory: limits must come of those who are not.
func TestLasting_NobodyComesForWhatIsGoneUnlessAllOfTheMixDoes(t *testing.T) {
	t.Parallel()
	m, err := Lasting(mix.Usual(), false)
	if err != nil || m.Check() != nil || m.Attempts != (mix.Parts{Buyers: 20, Repeats: 4, KeyedRepeats: 4}) {
		t.Fatalf("%+v, %v, %v", m.Attempts, err, m.Check())
	}
	for _, s := range m.Sales {
		if s.Role == mix.SoldOut || s.Role == mix.Early {
			t.Errorf("needs sale %+v", s)
		}
	}
	if all, one := meant(m.Crowd(), 0, 1000); all != 1000 || one < 400 {
		t.Errorf("%d of 1000 attempts find stock, %d of them in the hot sale", all, one)
	}
	whole, err := Lasting(mix.Usual(), true)
	if err != nil || whole.Attempts != mix.Usual().Attempts || len(whole.Sales) != len(mix.Usual().Sales) {
		t.Errorf("whole: %+v, %v", whole, err)
	}
}

func TestQuick_SendsEnoughOfTheUsualMix(t *testing.T) {
	t.Parallel()
	c := Quick()
	for name, m := range map[string]mix.Mix{"its own": Buyers(), "the usual": mix.Usual()} {
		var err error
		if c.Mix, err = Lasting(m, false); err != nil || c.Check() != nil {
			t.Errorf("%s: %v, %v", name, err, c.Check())
		}
	}
}
