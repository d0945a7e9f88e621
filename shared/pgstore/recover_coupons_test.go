package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// Whether or not the catalogue has heard that the template grew, and whether Postgres came
// back empty or as it was before: nobody's coupon is lost.
func TestRestore_CouponsOfATemplateThatGrewAreMadeAgain(t *testing.T) {
	t.Parallel()
	for _, copied := range []bool{false, true} {
		for _, heard := range []bool{false, true} {
			t.Run(fmt.Sprint("a copy ", copied, ", heard ", heard), func(t *testing.T) {
				t.Parallel()
				s, behind := newStore(t), newStore(t)
				known, now, added := grown(t, s)
				rs := reservations(8)
				b := batchOf("gift", rs...)
				wantCounts(t, order(t, s, b), 8, 0, 0, 0)
				if copied {
					loadedClaims(t, behind, "gift", "newcomer", 5)
				}
				if heard {
					known = now
				}
				for range 2 {
					_, err := behind.Adopt(t.Context(), known, known.Epoch)
					must(t, err)
					_, err = behind.RestoreAdjusted(t.Context(), "gift", []sale.Adjustment{added})
					must(t, err)
				}
				if r := order(t, behind, b); r.Ordered != 8 || r.Surplus != 0 {
					t.Errorf("%d ordered, %d surplus", r.Ordered, r.Surplus)
				}
				if got := templateOf(t, behind, "newcomer"); got.Total != 10 || got.Issued != 8 || entryOf(t, behind, "gift").Paused {
					t.Errorf("the template is %+v", got)
				}
			})
		}
	}
}

func TestAdopt_TakesOverARuleThatIsNewer(t *testing.T) {
	t.Parallel()
	s, behind := newStore(t), newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	loadedClaims(t, behind, "gift", "newcomer", 5)
	edited := rule("newcomer", 9)
	edited.Kind, edited.Value, edited.CapMinor, edited.EndsAt = coupon.KindPercent, 80, 300, edited.EndsAt.AddDate(1, 0, 0)
	applyRule(t, s, edited)
	older := entryOf(t, behind, "gift")
	_, err := behind.Adopt(t.Context(), entryOf(t, s, "gift"), 1)
	must(t, err)
	if diff := cmp.Diff(canonicalRule(edited), templateOf(t, behind, "newcomer").Rule); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = behind.Adopt(t.Context(), older, 1)
	must(t, err)
	if got := templateOf(t, behind, "newcomer"); got.Total != 9 || got.Kind != coupon.KindPercent {
		t.Errorf("an older one was taken: %+v", got)
	}
}

// A template that shrank still has what this copy gave out, and the units its sale has here.
func TestAdopt_NoTemplateIsLessThanWhatIsThere(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	order(t, s, batchOf("gift", reservations(4)...))
	for units, want := range map[int64]int64{5: 5, 4: 4} {
		exec(t, s, `UPDATE sale_stock SET total = $1`, units)
		known := entryOf(t, s, "gift")
		known.Rev, known.Rule = known.Rev+1, json.RawMessage(strings.Replace(string(known.Rule), fmt.Sprintf(`"total": %d`, templateOf(t, s, "newcomer").Total), `"total": 1`, 1))
		_, err := s.Adopt(t.Context(), known, 1)
		must(t, err)
		if got := templateOf(t, s, "newcomer"); got.Total != want {
			t.Errorf("%d units, and the template has %d", units, got.Total)
		}
	}
}

func TestAdopt_RefusesARuleThatNoTemplateMayHave(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	known := entryOf(t, s, "gift")
	known.ID, known.Template = "lost", "lost"
	known.Rule = json.RawMessage(strings.Replace(string(known.Rule), `"bps": 3000`, `"bps": 2000`, 1))
	var wrong *coupon.TermsError
	if _, err := s.Adopt(t.Context(), known, 1); !errors.As(err, &wrong) || wrong.Field != "bearers" {
		t.Errorf("error %v", err)
	}
}

// The sale was paused before, so that only the template says why it stays so.
func TestAdopt_OffTheShelfIsForGood(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"empty": false, "a copy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, behind := newStore(t), newStore(t)
			loadedClaims(t, s, "gift", "newcomer", 5)
			_, err := s.SetPaused(t.Context(), ada, "gift", true)
			must(t, err)
			seen := entryOf(t, s, "gift")
			off, err := s.TakeOffShelf(t.Context(), ada, "newcomer")
			must(t, err)
			known := entryOf(t, s, "gift")
			if !known.NewerThan(seen) {
				t.Errorf("the catalogue hears nothing of rev %d after %d", known.Rev, seen.Rev)
			}
			if copied {
				loadedClaims(t, behind, "gift", "newcomer", 5)
			}
			for range 2 {
				_, err = behind.Adopt(t.Context(), known, 1)
				must(t, err)
			}
			if got := templateOf(t, behind, "newcomer"); !got.OffShelfAt.Equal(off.OffShelfAt) {
				t.Errorf("off the shelf since %v, want %v", got.OffShelfAt, off.OffShelfAt)
			}
			if _, err := behind.SetPaused(t.Context(), ada, "gift", false); !errors.Is(err, ErrOffShelf) {
				t.Errorf("resumed: %v", err)
			}
		})
	}
}
