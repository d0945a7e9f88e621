package compare

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
)

func TestIncident_GivesOutTooManyAndDoubles(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := devstack.PostgresForTest(t).URL()
	db, err := pgx.Connect(ctx, server)
	must(t, err)
	defer db.Close(ctx)
	template := Sale{ID: "newcomer", Total: 50, Limit: 1}
	shop, err := incident{}.Open(ctx, Site{DB: db, Stack: stack.Info{Postgres: stack.StoreInfo{URL: server}}}, []Sale{template})
	must(t, err)
	tally := newTally(incidentName, &record.Latencies{})
	crowd{claimers: 60, clicks: 5, templates: []Sale{template}, urls: shop.URLs(), token: userName, tally: tally}.run(ctx)
	must(t, shop.Stop(ctx))
	got, err := judge{db, shop.Schema()}.given(ctx, template)
	must(t, err)
	t.Logf("%+v, answers %v", got, tally.outcomes)
	if got.over() == 0 || got.Doubles == 0 || got.Total != 50 || tally.unanswered != 0 {
		t.Errorf("%+v, %d clicks unanswered: %v", got, tally.unanswered, tally.fault)
	}
	must(t, shop.Drop(ctx))
	var left bool
	must(t, db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, incidentSchema).Scan(&left))
	if left {
		t.Error("its tables are still there")
	}
}
