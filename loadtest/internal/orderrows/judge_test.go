package orderrows

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/shared/devstack"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

func TestJudge_SeesLostDoubledUnaskedAndUncountedOrders(t *testing.T) {
	t.Parallel()
	table, err := Open(t.Context(), devstack.PostgresForTest(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := table.DB.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE sale_stock (sale_id text, held int)`)
	exec(`CREATE TABLE orders (sale_id text, user_id text, state text, holds_unit boolean)`)
	for name, c := range map[string]struct {
		users []string
		held  int
		told  Answers
		want  []string
	}{
		"as answered":         {[]string{"a", "b"}, 2, Answers{Accepted: 2}, nil},
		"a 503 has its order": {[]string{"a", "b"}, 2, Answers{Accepted: 1, Others: 1}, nil},
		"nobody came":         {nil, 0, Answers{}, nil},
		"lost":                {[]string{"a"}, 1, Answers{Accepted: 2}, []string{"I3"}},
		"unasked":             {[]string{"a", "b", "c"}, 3, Answers{Accepted: 1, Others: 1}, []string{"I6"}},
		"doubled":             {[]string{"a", "a"}, 2, Answers{Accepted: 2}, []string{"I2"}},
		"uncounted":           {[]string{"a", "b"}, 1, Answers{Accepted: 2}, []string{"I4"}},
	} {
		exec(`INSERT INTO sale_stock VALUES ($1, $2)`, name, c.held)
		for _, user := range c.users {
			exec(`INSERT INTO orders VALUES ($1, $2, 'pending', true)`, name, user)
		}
		exec(`INSERT INTO orders VALUES ($1, 'z', 'rejected', false)`, name) // which is none
		violations, err := table.Judge(t.Context(), name, c.told)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range violations {
			got = append(got, v.Invariant)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
