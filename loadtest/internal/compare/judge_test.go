package compare

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/record"
	"sluice/shared/devstack"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

const testPatience = 20 * time.Second // the machine may be busy

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planting is a copy of Sluice's tables without anything that keeps rows right, and
// what claimers were told of what is in them.
type planting struct {
	t     *testing.T
	judge judge
	of    Sale
	told  record.Winners
}

// plant has a template of 3 coupons, 2 a user, of which 2 are given out to ada and one
// to bob, as it should be.
func plant(t *testing.T) *planting {
	t.Helper()
	server := devstack.PostgresForTest(t).URL()
	db, err := pgx.Connect(t.Context(), server)
	must(t, err)
	schema := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	p := &planting{t: t, judge: judge{db, schema + "_planted"}, of: Sale{ID: "newcomer", Total: 3, Limit: 2}}
	p.exec(`CREATE SCHEMA ` + schema)
	p.exec(`CREATE SCHEMA ` + p.judge.schema)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testPatience)
		defer cancel()
		_, err := db.Exec(ctx, `DROP SCHEMA `+schema+`, `+p.judge.schema+` CASCADE`)
		must(t, err)
		must(t, db.Close(ctx))
	})
	migrate(t, server, schema)
	for _, table := range []string{"coupon_templates", "coupons", "orders"} {
		p.exec(fmt.Sprintf(`CREATE TABLE %s.%s (LIKE %s.%s INCLUDING DEFAULTS)`, p.judge.schema, table, schema, table))
	}
	p.exec(`INSERT INTO ` + p.judge.schema + `.coupon_templates (template_id, kind, value, min_amount, total, terms) VALUES ('newcomer', 'amount', 1, 0, 3, '{}')`)
	p.claimed("ada", 1)
	p.claimed("ada", 2)
	p.claimed("bob", 1)
	p.exec(`UPDATE ` + p.judge.schema + `.coupon_templates SET issued = 3`)
	return p
}

func migrate(t *testing.T, server, schema string) {
	t.Helper()
	u, err := url.Parse(server)
	must(t, err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	store, err := pgstore.Open(t.Context(), pgstore.Config{URL: u.String(), StatementTimeout: testPatience})
	must(t, err)
	defer store.Close()
	_, err = store.Migrate(t.Context())
	must(t, err)
}

func (p *planting) exec(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.judge.db.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// claimed plants an order and its coupon, and a claimer who was answered 202.
func (p *planting) claimed(user string, slot int) (rid string) {
	p.t.Helper()
	rid = uuid.NewString()
	p.order(rid, user, slot, "paid")
	p.coupon(rid, user, slot)
	p.tell(rid, sale.StatusPaid)
	return rid
}

func (p *planting) order(rid, user string, slot int, state string) {
	p.t.Helper()
	p.exec(`INSERT INTO `+p.judge.schema+`.orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency, state, shown_state, holds_unit, holds_slot)
		VALUES ($1, 'newcomer', $2, $3, '', 1, now(), 0, 'CNY', $4, '', true, true)`, rid, user, slot, state)
}

func (p *planting) coupon(rid, user string, slot int) {
	p.t.Helper()
	p.exec(`INSERT INTO `+p.judge.schema+`.coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at) VALUES ($1, 'newcomer', 'newcomer', $2, $3, '{}', 'infinity')`, rid, user, slot)
}

func (p *planting) tell(rid string, status sale.Status) {
	p.told.Answer(1, "ticket", rid, true, sale.StatusQueued)
	p.told.Status(rid, status)
}

// found are the invariants that the judge sees broken.
func (p *planting) found() []string {
	p.t.Helper()
	f, err := p.judge.facts(p.t.Context(), p.of)
	must(p.t, err)
	var broken []string
	for _, v := range f.violations(p.told.All()) {
		p.t.Log(v.Invariant, v.Detail)
		broken = append(broken, v.Invariant)
	}
	return slices.Compact(slices.Sorted(slices.Values(broken)))
}

func TestJudge_FindsNothingWhereAllIsRight(t *testing.T) {
	t.Parallel()
	p := plant(t)
	p.order(uuid.NewString(), "cyn", 1, "rejected") // holds nothing
	if broken := p.found(); broken != nil {
		t.Errorf("broken: %v", broken)
	}
}

func TestJudge_SeesWhatIsPlanted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		plant func(p *planting)
		want  []string
	}{
		"a coupon too many": {func(p *planting) {
			p.claimed("cyn", 1)
			p.exec(`UPDATE ` + p.judge.schema + `.coupon_templates SET issued = 4`)
		}, []string{"I1"}},
		"too many, under a count that is right": {func(p *planting) { p.claimed("cyn", 1) }, []string{"I1", "I4"}},
		"a total that was raised behind the run": {func(p *planting) {
			p.exec(`UPDATE ` + p.judge.schema + `.coupon_templates SET total = 4`)
		}, []string{"I1"}},
		"a user with one beyond the limit": {func(p *planting) {
			p.exec(`UPDATE ` + p.judge.schema + `.coupons SET user_id = 'ada', slot = 3 WHERE user_id = 'bob'`)
			p.exec(`UPDATE ` + p.judge.schema + `.orders SET user_id = 'ada', slot = 3 WHERE user_id = 'bob'`)
		}, []string{"I2"}},
		"a slot with two": {func(p *planting) {
			p.exec(`UPDATE ` + p.judge.schema + `.coupons SET slot = 1`)
			p.exec(`UPDATE ` + p.judge.schema + `.orders SET slot = 1`)
		}, []string{"I2"}},
		"an order without its coupon": {func(p *planting) {
			p.exec(`DELETE FROM ` + p.judge.schema + `.coupons WHERE user_id = 'bob'`)
		}, []string{"I3", "I4"}},
		"a coupon without its order": {func(p *planting) {
			p.exec(`UPDATE ` + p.judge.schema + `.orders SET user_id = 'eve' WHERE user_id = 'bob'`)
		}, []string{"I6"}},
		"a 202 without an outcome": {func(p *planting) { p.tell(uuid.NewString(), sale.StatusPaid) }, []string{"I3"}},
		"a 202 with two": {func(p *planting) {
			p.exec(`INSERT INTO ` + p.judge.schema + `.orders SELECT * FROM ` + p.judge.schema + `.orders WHERE user_id = 'bob'`)
			p.exec(`UPDATE ` + p.judge.schema + `.orders SET state = 'rejected' WHERE ctid = (SELECT max(ctid) FROM ` + p.judge.schema + `.orders WHERE user_id = 'bob')`)
		}, []string{"I3"}},
		"a ticket that tells of a coupon there is not": {func(p *planting) {
			rid := uuid.NewString()
			p.order(rid, "cyn", 1, "rejected")
			p.tell(rid, sale.StatusPaid)
		}, []string{"I3"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plant(t)
			c.plant(p)
			if broken := p.found(); !slices.Equal(broken, c.want) {
				t.Errorf("broken: %v, want %v", broken, c.want)
			}
		})
	}
}
