package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// admin is where a worker takes operators' calls, each in turn.
func (r *Round) admin(i int) string {
	all := r.stack.Info().Workers
	return all[i%len(all)].AdminURL
}

// operate posts to the admin API at a URL as an operator does, and returns the answer.
func (r *Round) operate(ctx context.Context, adminURL, path, body string) (status int, answer []byte, err error) {
	return r.send(ctx, http.MethodPost, adminURL+"/admin/v1"+path, r.stack.Info().Secrets.AdminToken, body)
}

// adjusted is what an adjustment was answered with.
type adjusted struct {
	Status int    `json:"-"`
	State  string `json:"state"`
	Type   string `json:"type"`   // of a problem
	Unsold *int64 `json:"unsold"` // of a refused decrease: units that could have gone
}

// applied reports whether the units have moved everywhere.
func (a adjusted) applied() bool { return a.Status == http.StatusOK && a.State == "applied" }

// unsold reports whether it was refused, because not that many are.
func (a adjusted) unsold() bool {
	return a.Status == http.StatusConflict && strings.HasSuffix(a.Type, "/problems/unsold")
}

// adjust adds units to the sale, or takes them away, once an id.
func (r *Round) adjust(ctx context.Context, adminURL, id string, delta int64) (a adjusted, err error) {
	status, answer, err := r.operate(ctx, adminURL, "/sales/"+r.saleID+"/stock", fmt.Sprintf(`{"adjustment_id":%q,"delta":%d}`, id, delta))
	if err != nil {
		return a, err
	}
	a.Status = status
	if err := json.Unmarshal(answer, &a); err != nil {
		return a, fmt.Errorf("cannot read answer %d to adjustment %s: %w", status, id, err)
	}
	return a, nil
}

// adjustToEnd repeats an adjustment, at each worker in turn, until it is decided, as
// somebody does who has lost an answer.
func (r *Round) adjustToEnd(ctx context.Context, id string, delta int64) (a adjusted, err error) {
	i := 0
	err = r.until(ctx, hitPatience, "adjustment "+id+" is decided", func() bool {
		i++
		a, err = r.adjust(ctx, r.admin(i), id, delta)
		return err == nil && (a.applied() || a.unsold())
	})
	return a, err
}

// wantTotal wants the sale to have so many units in Postgres.
func (r *Round) wantTotal(ctx context.Context, want int64) error {
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	if got := s.Sales[0].Total; got != want {
		r.fail("I4", "the sale has %d units, with all adjustments it should have %d", got, want)
	}
	return nil
}
