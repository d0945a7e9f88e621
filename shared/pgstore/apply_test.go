package pgstore

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/shared/sale"
)

func apply(t *testing.T, s *Store, configs ...SaleConfig) []Applied {
	t.Helper()
	applied, err := s.Apply(t.Context(), configs)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func entryOf(t *testing.T, s *Store, saleID string) sale.Entry {
	t.Helper()
	entry, err := s.Entry(t.Context(), saleID)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func TestApply_CreatesThenLeavesAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	watch, phone := config("watch", 5), config("phone", 1000)
	phone.Hold = 90*time.Second + 7*time.Nanosecond // finer than Postgres keeps
	phone.OpensAt = phone.OpensAt.In(time.FixedZone("CST", 8*3600))
	phone.Eligibility = sale.Eligibility{
		MinAccountAge: 720 * time.Hour, MinPaidOrders: 1, Tags: []string{"vip", "cn"}, HasAllowList: true,
	}
	phone.AllowList = []string{"zoe", "ann", "zoe"}
	phone.Titles = map[string]string{"zh": "半价手机"}

	want := []Applied{{SaleID: "watch", Change: Created}, {SaleID: "phone", Change: Created}}
	if diff := cmp.Diff(want, apply(t, s, watch, phone)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	phone.AllowList = []string{"ann", "zoe"}
	want = []Applied{{SaleID: "watch", Change: Unchanged}, {SaleID: "phone", Change: Unchanged}}
	if diff := cmp.Diff(want, apply(t, s, watch, phone)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}

	entries, err := s.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := []sale.Entry{{Sale: canonical(phone).Sale, Rev: 1}, {Sale: watch.Sale, Rev: 1}}
	if diff := cmp.Diff(stored, entries, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	wantHeld(t, s, "phone", 0)
}

// everyField lists one change for each field of the sales file.
func everyField() map[string]func(*SaleConfig) {
	return map[string]func(*SaleConfig){
		"title":                       func(c *SaleConfig) { c.Title = "other" },
		"title.zh":                    func(c *SaleConfig) { c.Titles = map[string]string{"zh": "手机"} },
		"sku":                         func(c *SaleConfig) { c.SKU = "OTHER" },
		"kind":                        func(c *SaleConfig) { c.Kind = sale.KindCoupon },
		"total":                       func(c *SaleConfig) { c.Total++ },
		"price":                       func(c *SaleConfig) { c.PriceMinor++ },
		"currency":                    func(c *SaleConfig) { c.Currency = "EUR" },
		"per_user_limit":              func(c *SaleConfig) { c.PerUserLimit++ },
		"opens_at":                    func(c *SaleConfig) { c.OpensAt = c.OpensAt.Add(time.Second) },
		"closes_at":                   func(c *SaleConfig) { c.ClosesAt = c.ClosesAt.Add(time.Second) },
		"hold":                        func(c *SaleConfig) { c.Hold++; c.Hold += time.Second },
		"mode":                        func(c *SaleConfig) { c.Mode = sale.ModeInstant },
		"rebuy_after_release":         func(c *SaleConfig) { c.RebuyAfterRelease = false },
		"weight":                      func(c *SaleConfig) { c.Weight++ },
		"eligibility.min_account_age": func(c *SaleConfig) { c.Eligibility.MinAccountAge = time.Hour },
		"eligibility.min_paid_orders": func(c *SaleConfig) { c.Eligibility.MinPaidOrders++ },
		"eligibility.tags":            func(c *SaleConfig) { c.Eligibility.Tags = []string{"vip"} },
		"eligibility.allow_list":      func(c *SaleConfig) { c.AllowList = []string{"bob"}; c.Eligibility.HasAllowList = true },
	}
}

func TestApply_NamesTheFieldOfAnUpdateAndOfARefusal(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for field, change := range everyField() {
		id := strings.NewReplacer(".", "-", "_", "-").Replace(field)
		before, after := config(id, 10), config(id, 10)
		change(&after)
		apply(t, s, before)

		applied := apply(t, s, after)[0]
		if applied.Change != Updated || !slices.Equal(applied.Fields, []string{field}) {
			t.Errorf("%s: applied = %+v", field, applied)
		}
		if entry := entryOf(t, s, id); entry.Rev != 2 {
			t.Errorf("%s: rev = %d, want 2", field, entry.Rev)
		}
		if state, err := s.LoadState(t.Context(), id); err != nil || state.Total != after.Total ||
			!slices.Equal(state.AllowList, after.AllowList) {
			t.Errorf("%s: load state = %+v, error %v", field, state, err)
		}

		if _, err := s.BeginLoad(t.Context(), id, 0); err != nil {
			t.Fatal(err)
		}
		_, err := s.Apply(t.Context(), []SaleConfig{before})
		if !errors.Is(err, ErrLoaded) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error = %v, want ErrLoaded that names it", field, err)
		}
		if applied := apply(t, s, after)[0]; applied.Change != Unchanged {
			t.Errorf("%s: identical, but applied = %+v", field, applied)
		}
	}
}

func TestApply_IsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	apply(t, s, config("watch", 5))
	changed, bad, listless := config("phone", 11), config("shoe", 5), config("shoe", 5)
	bad.ClosesAt = bad.OpensAt
	listless.AllowList = []string{"ann"}

	for name, configs := range map[string][]SaleConfig{
		"loaded sale changed":      {config("apple", 1), config("watch", 6), changed},
		"refused by the schema":    {config("apple", 1), config("watch", 6), bad},
		"there twice":              {config("apple", 1), config("watch", 6), config("apple", 1)},
		"allow list nobody checks": {config("apple", 1), config("watch", 6), listless},
	} {
		if applied, err := s.Apply(t.Context(), configs); err == nil || applied != nil {
			t.Errorf("%s: applied = %v, error %v", name, applied, err)
		}
		if _, err := s.Entry(t.Context(), "apple"); !errors.Is(err, ErrNoSale) {
			t.Errorf("%s: a sale was created: %v", name, err)
		}
		if entry := entryOf(t, s, "watch"); entry.Total != 5 || entry.Rev != 1 {
			t.Errorf("%s: a sale was updated: %+v", name, entry)
		}
	}
}

func TestApply_ConcurrentCallersAgree(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := s.Apply(t.Context(), []SaleConfig{config("watch", 5), config("phone", 10)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if entry := entryOf(t, s, "phone"); entry.Rev != 1 {
		t.Errorf("rev = %d, want 1", entry.Rev)
	}
}
