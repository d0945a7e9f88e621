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
	applied, err := s.Apply(t.Context(), Catalogue{Sales: configs})
	if err != nil {
		t.Fatal(err)
	}
	return applied.Sales
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
	withoutEntry := cmpopts.IgnoreFields(Applied{}, "Entry")
	if diff := cmp.Diff(want, apply(t, s, watch, phone), withoutEntry); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	phone.AllowList = []string{"ann", "zoe"}
	want = []Applied{{SaleID: "watch", Change: Unchanged}, {SaleID: "phone", Change: Unchanged}}
	if diff := cmp.Diff(want, apply(t, s, watch, phone), withoutEntry); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}

	entries, err := s.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := []sale.Entry{{Sale: canonical(phone).Sale, Rev: 1}, {Sale: watch.Sale, Rev: 1}}
	if diff := cmp.Diff(stored, entries, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(sale.Entry{}, "AllowRev")); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	wantHeld(t, s, "phone", 0)
}

// everyField lists one change for each field of the sales file but for kind and template,
// which change together.
func everyField() map[string]func(*SaleConfig) {
	return map[string]func(*SaleConfig){
		"title":                       func(c *SaleConfig) { c.Title = "other" },
		"title.zh":                    func(c *SaleConfig) { c.Titles = map[string]string{"zh": "手机"} },
		"sku":                         func(c *SaleConfig) { c.SKU = "OTHER" },
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

// fixedFields are those that a loaded sale keeps.
var fixedFields = []string{"sku", "total", "price", "currency"}

func fieldNames(changes []sale.FieldChange) (names []string) {
	for _, c := range changes {
		names = append(names, c.Field)
	}
	return names
}

func TestApply_NamesTheFieldOfAnUpdate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for field, change := range everyField() {
		id := strings.NewReplacer(".", "-", "_", "-").Replace(field)
		before, after := config(id, 10), config(id, 10)
		change(&after)
		apply(t, s, before)

		applied := apply(t, s, after)[0]
		if applied.Change != Updated || !slices.Equal(fieldNames(applied.Fields), []string{field}) {
			t.Errorf("%s: applied = %+v", field, applied)
		}
		if entry := entryOf(t, s, id); entry.Rev != 2 || cmp.Diff(entry, applied.Entry) != "" {
			t.Errorf("%s: rev = %d, want 2; the entry is %+v", field, entry.Rev, applied.Entry)
		}
		if state, err := s.LoadState(t.Context(), id); err != nil || state.Total != after.Total ||
			!slices.Equal(state.AllowList, after.AllowList) {
			t.Errorf("%s: load state = %+v, error %v", field, state, err)
		}
		if applied := apply(t, s, after)[0]; applied.Change != Unchanged {
			t.Errorf("%s: identical, but applied = %+v", field, applied)
		}
	}
}

func TestApply_OfALoadedSaleChangesOrRefusesEachField(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for field, change := range everyField() {
		id := strings.NewReplacer(".", "-", "_", "-").Replace(field)
		loaded(t, s, id, 10)
		order(t, s, batchOf(id, reservations(1)...))
		before, after := entryOf(t, s, id), config(id, 10)
		change(&after)
		applied, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{after}})
		var fixed *FixedError
		switch refused := slices.Contains(fixedFields, field); {
		case !refused && err != nil:
			t.Errorf("%s: %v", field, err)
		case refused && (!errors.As(err, &fixed) || !errors.Is(err, ErrLoaded) || len(fixed.Sales) != 1 || fixed.Sales[0].Fields[0].Field != field):
			t.Errorf("%s: error = %v, want one that names it", field, err)
		case refused:
			if diff := cmp.Diff(before, entryOf(t, s, id)); diff != "" {
				t.Errorf("%s: refused, and changed (-want +got):\n%s", field, diff)
			}
		case applied.Sales[0].Change != Updated || !slices.Equal(fieldNames(applied.Sales[0].Fields), []string{field}) || applied.Sales[0].Entry.Rev != before.Rev+1:
			t.Errorf("%s: applied = %+v", field, applied.Sales)
		}
		if total, held, err := stockOf(t, s, id); err != nil || total != 10 || held != 1 {
			t.Errorf("%s: %d units, %d held, %v", field, total, held, err)
		}
	}
}

func TestApply_RefusesAllThatIsFixedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	loaded(t, s, "watch", 10)
	phone, watch := config("phone", 11), config("watch", 10)
	phone.Title, phone.PriceMinor, phone.PerUserLimit, watch.SKU = "other", 1, 1, "OTHER"
	_, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{watch, phone, config("shoe", 1)}})
	for _, part := range []string{"nothing was changed", "sale phone: total: 10 → 11: ", "POST /admin/v1/sales/phone/stock", "sale phone: price: 199900 → 1: ",
		"sale phone: per_user_limit: 2 → 1: ", `sale watch: sku: "PHONE-1" → "OTHER": `, "POST /admin/v1/sales/watch/close"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	if e := entryOf(t, s, "phone"); e.Title == "other" {
		t.Error("a part of it was applied")
	}
	if _, err := s.Entry(t.Context(), "shoe"); !errors.Is(err, ErrNoSale) {
		t.Errorf("another sale was created: %v", err)
	}
}

func TestApply_ASaleThatAnOperatorClosedStaysClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := config("phone", 10)
	c.OpensAt, c.ClosesAt = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	apply(t, s, c)
	closed, err := s.CloseSale(t.Context(), sale.Actor{Who: "admin"}, "phone")
	must(t, err)
	if closed.ClosedAt.IsZero() || !closed.ClosedAt.Equal(closed.ClosesAt) {
		t.Errorf("closed at %v, closes at %v", closed.ClosedAt, closed.ClosesAt)
	}
	if applied := apply(t, s, c)[0]; applied.Change != Unchanged {
		t.Errorf("the same file again: %+v", applied)
	}
	c.Weight = 7
	apply(t, s, c)
	c.ClosesAt = c.ClosesAt.Add(time.Hour)
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}}); err == nil || !strings.Contains(err.Error(), "it stays closed") {
		t.Errorf("a later end: %v", err)
	}
	if e := entryOf(t, s, "phone"); !e.ClosesAt.Equal(closed.ClosesAt) || e.Weight != 7 {
		t.Errorf("the sale is %+v", e)
	}
}

func TestApply_OfARetiredSaleChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	exec(t, s, `UPDATE sales SET retired = true, retired_at = now()`)
	if applied := apply(t, s, config("phone", 10))[0]; applied.Change != Unchanged {
		t.Errorf("the same file again: %+v", applied)
	}
	c := config("phone", 10)
	c.Title = "other"
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}}); err == nil || !strings.Contains(err.Error(), "is retired") {
		t.Errorf("error = %v", err)
	}
}

func TestApply_IsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	c := config("phone", 10)
	c.Weight, c.Eligibility.HasAllowList, c.AllowList = 7, true, []string{"ann", "bob"}
	apply(t, s, c)
	apply(t, s, c) // no change, no record
	log, err := s.AuditLog(t.Context(), "phone", sale.Page{Limit: 10})
	must(t, err)
	if len(log) != 1 || log[0].Action != sale.ActionApply || log[0].By.Who != "warmup" ||
		string(log[0].Before) != `{"weight": "1", "eligibility.allow_list": "everybody"}` ||
		string(log[0].After) != `{"weight": "7", "eligibility.allow_list": "2 users (2 added, 0 removed)"}` {
		t.Errorf("%d records: %s → %s", len(log), log[0].Before, log[0].After)
	}
}

func TestPlan_SaysTheSameAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	before := entryOf(t, s, "phone")
	c := config("phone", 10)
	c.Weight, c.Eligibility.HasAllowList, c.AllowList = 7, true, []string{"ann"}
	planned, err := s.Plan(t.Context(), Catalogue{Sales: []SaleConfig{c, config("watch", 1)}})
	must(t, err)
	if len(planned.Sales) != 2 || planned.Sales[0].Change != Updated || len(planned.Sales[0].Fields) != 2 || planned.Sales[1].Change != Created {
		t.Errorf("planned %+v", planned)
	}
	if diff := cmp.Diff(before, entryOf(t, s, "phone")); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
	if _, err := s.Entry(t.Context(), "watch"); !errors.Is(err, ErrNoSale) {
		t.Errorf("it was created: %v", err)
	}
	c.Total++
	if _, err := s.Plan(t.Context(), Catalogue{Sales: []SaleConfig{c}}); !errors.Is(err, ErrLoaded) {
		t.Errorf("a plan that cannot be: %v", err)
	}
}

func TestApply_AllowListsAreNumberedAndCompared(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	list := func(users ...string) SaleConfig {
		c := config("phone", 10)
		c.Eligibility.HasAllowList, c.AllowList = len(users) > 0, users
		return c
	}
	apply(t, s, list("ann", "bob"))
	first := entryOf(t, s, "phone")
	for _, c := range []struct {
		next          SaleConfig
		before, after string
	}{
		{list("bob", "ann", "bob"), "", ""},
		{list("bob", "cy", "dee"), "2 users", "3 users (2 added, 1 removed)"},
		{list(), "3 users", "everybody"},
		{list("ann"), "everybody", "1 users (1 added, 0 removed)"},
	} {
		before := entryOf(t, s, "phone")
		applied := apply(t, s, c.next)[0]
		if c.after == "" {
			if applied.Change != Unchanged || applied.Entry.AllowRev != before.AllowRev {
				t.Errorf("the same list: %+v", applied)
			}
			continue
		}
		want := []sale.FieldChange{{Field: "eligibility.allow_list", Before: c.before, After: c.after}}
		if diff := cmp.Diff(want, applied.Fields); diff != "" || applied.Entry.AllowRev <= before.AllowRev {
			t.Errorf("number %d after %d, fields (-want +got):\n%s", applied.Entry.AllowRev, before.AllowRev, diff)
		}
	}
	if first.AllowRev < time.Now().Add(-time.Hour).UnixMilli() {
		t.Errorf("the first list has number %d", first.AllowRev)
	}
	empty := config("phone", 10)
	empty.Eligibility.HasAllowList = true
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{empty}}); err == nil {
		t.Error("a list of nobody was taken")
	}
}

func TestApply_BesideOperatorsAndLoadsLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := config("phone", 10)
	c.OpensAt, c.ClosesAt = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	apply(t, s, c)
	entry, err := s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)
	_, err = s.FinishLoad(t.Context(), "phone", entry.Epoch)
	must(t, err)
	const each = 8
	by := sale.Actor{Who: "admin"}
	var group sync.WaitGroup
	for i := range each {
		group.Go(func() {
			next := c
			next.Weight, next.Eligibility.HasAllowList, next.AllowList = 10+i, true, []string{"ann", "user-" + string(rune('a'+i))}
			if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{next}}); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if _, err := s.SetPaused(t.Context(), by, "phone", i%2 == 0); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if _, err := s.RebuildSale(t.Context(), by, "phone", 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	_, err = s.CloseSale(t.Context(), by, "phone")
	must(t, err)
	log, err := s.AuditLog(t.Context(), "phone", sale.Page{Limit: 100})
	must(t, err)
	applies := 0
	for _, change := range log {
		if change.Action == sale.ActionApply {
			applies++
		}
	}
	e := entryOf(t, s, "phone")
	// Each record is of a rev of its own; the load has made two more, and the request of one is in the log.
	if want := entry.Rev + 1 + int64(len(log)); applies != each || e.Rev != want || e.ClosedAt.IsZero() || !e.Rebuilding {
		t.Errorf("%d applies, %d records, rev %d, want %d: %+v", applies, len(log), e.Rev, want, e)
	}
	state, err := s.LoadState(t.Context(), "phone")
	must(t, err)
	if want := []string{"ann", "user-" + string(rune('a'+e.Weight-10))}; !slices.Equal(state.AllowList, want) {
		t.Errorf("the list is %v, the weight %d", state.AllowList, e.Weight)
	}
}

// Half a million users take seconds to write. Somebody who writes one of them too holds them up here for longer.
func TestApply_OrdersAndOperatorsDoNotWaitForAnAllowList(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	blocker, err := s.pool.Begin(t.Context())
	must(t, err)
	_, err = blocker.Exec(t.Context(), `INSERT INTO sale_allow VALUES ('phone', 'ann')`)
	must(t, err)
	c := config("phone", 10)
	c.Weight, c.Eligibility.HasAllowList, c.AllowList = 7, true, []string{"ann"}
	done := make(chan error, 1)
	go func() {
		_, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}})
		done <- err
	}()
	eventually(t, "the list waits", func() bool {
		var waiting bool
		must(t, s.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock')`).Scan(&waiting))
		return waiting
	})
	wantCounts(t, order(t, s, batchOf("phone", reservations(1)...)), 1, 0, 0, 0)
	_, err = s.SetPaused(t.Context(), sale.Actor{Who: "admin"}, "phone", true)
	must(t, err)
	select {
	case err := <-done:
		t.Fatalf("the list did not wait: %v", err)
	default:
	}
	must(t, blocker.Rollback(t.Context()))
	must(t, <-done)
	if e := entryOf(t, s, "phone"); e.Weight != 7 || !e.Paused {
		t.Errorf("the sale is %+v", e)
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
		if applied, err := s.Apply(t.Context(), Catalogue{Sales: configs}); err == nil || applied.Sales != nil {
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
			if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{config("watch", 5), config("phone", 10)}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if entry := entryOf(t, s, "phone"); entry.Rev != 1 {
		t.Errorf("rev = %d, want 1", entry.Rev)
	}
}

func TestLockAllowList_IsOfOneSale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	unlock, err := s.LockAllowList(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := s.LockAllowList(t.Context(), "phone"); !errors.Is(err, ErrLocked) {
		t.Errorf("a second time: %v", err)
	}
	if unlock, err := s.LockAllowList(t.Context(), "shoe' || 's"); err == nil {
		unlock()
		t.Error("what is no id went into the statement")
	}
	other, err := s.LockAllowList(t.Context(), "watch")
	if err != nil {
		t.Fatal(err)
	}
	other()
}
