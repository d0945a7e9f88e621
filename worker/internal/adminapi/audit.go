package adminapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"sluice/shared/sale"
)

// How long an audit waits for the sale to come to rest.
const (
	defaultRest = 5
	maxRest     = 30               // seconds
	auditRead   = 35 * time.Second // of the look after the wait
)

// auditor reads the evidence of a sale and judges it, at rest if that comes within
// patience.
type auditor interface {
	Audit(ctx context.Context, saleID string, seen []sale.Seen, patience time.Duration) (sale.Evidence, sale.Verdict, error)
}

type auditBody struct {
	Verdict  sale.Verdict `json:"verdict"`
	AtRest   bool         `json:"at_rest"`
	Evidence evidenceBody `json:"evidence"`
}

// evidenceBody is how much there is of everything.
type evidenceBody struct {
	Configured int64                     `json:"configured"`
	Adjusted   int64                     `json:"adjusted"`
	Total      int64                     `json:"total"`
	Held       int64                     `json:"held"`
	Free       int64                     `json:"free"`
	Orders     map[sale.OrderState]int64 `json:"orders"` // by state
	Releases   int                       `json:"releases"`
	Unapplied  int                       `json:"releases_unapplied"`
	Adjusting  int                       `json:"adjustments_unfinished"`
	HandedOver int                       `json:"handed_over"` // reservations in the stream; repeats count
	Redis      struct {
		Stock    int64 `json:"stock"`
		Accepted int64 `json:"accepted"`
		Served   int64 `json:"served"`
		Given    int64 `json:"given"`
		HandOff  int64 `json:"handoff"`
		SoldOut  bool  `json:"sold_out"`
		Slots    int   `json:"slots_taken"`
		Tickets  int   `json:"tickets"`
	} `json:"redis"`
	Coupons *couponsBody `json:"coupons"` // null of a sale of goods
}

// couponsBody is how many coupons there are of a sale's template.
type couponsBody struct {
	Template    string `json:"template"`
	Total       int64  `json:"total"`
	Issued      int64  `json:"issued"` // as the template counts them
	Instances   int64  `json:"instances"`
	Redeemed    int64  `json:"redeemed"` // instances in that state
	Redemptions int64  `json:"redemptions"`
	Returns     int64  `json:"returns"`
}

func (a *API) audit(ctx context.Context, c call) {
	query, bad := c.query("wait")
	wait := defaultRest
	if text, ok := query["wait"]; ok && bad == nil {
		var err error
		if wait, err = strconv.Atoi(text); err != nil || wait < 0 || wait > maxRest {
			bad = invalidRequest("wait", "wait must be 0 to 30 seconds.")
		}
	}
	if bad != nil {
		bad.write(c.w)
		return
	}
	if err := c.auditable(ctx); err != nil {
		a.fail(c, err)
		return
	}
	patience := time.Duration(wait) * time.Second
	ctx, cancel := context.WithTimeout(c.r.Context(), patience+auditRead)
	defer cancel()
	select {
	case a.auditing <- struct{}{}:
		defer func() { <-a.auditing }()
	case <-ctx.Done():
		unavailable.write(c.w)
		return
	}
	evidence, verdict, err := c.Evidence.Audit(ctx, c.sale, nil, patience)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, auditBody{Verdict: verdict, AtRest: verdict.AtRest, Evidence: numbersOf(evidence)})
}

// auditable refuses a sale whose state is not in all three stores.
func (c call) auditable(ctx context.Context) error {
	st, err := c.standing(ctx)
	switch {
	case err != nil:
		return err
	case st.Retired:
		return ErrRetired
	case st.Epoch == 0:
		return ErrNotLoaded
	case st.Rebuilding:
		return ErrRebuilding
	}
	return nil
}

func numbersOf(e sale.Evidence) evidenceBody {
	body := evidenceBody{
		Configured: e.Configured, Adjusted: e.Adjusted(), Total: e.Total, Held: e.Held, Free: e.Total - e.Held,
		Orders: map[sale.OrderState]int64{
			sale.OrderPending: 0, sale.OrderPaid: 0, sale.OrderExpired: 0, sale.OrderCancelled: 0, sale.OrderRejected: 0, sale.OrderRefunded: 0,
		},
		Releases: len(e.Releases), Unapplied: e.Unapplied, Adjusting: e.Adjusting(), HandedOver: len(e.HandedOver),
	}
	for _, o := range e.Orders {
		body.Orders[o.State]++
	}
	r := &body.Redis
	r.Stock, r.Accepted, r.Served, r.Given = e.Redis.Stock, e.Redis.Accepted, e.Redis.Served, e.Redis.Given
	r.HandOff, r.SoldOut, r.Slots, r.Tickets = e.Redis.HandOff, e.Redis.SoldOut, len(e.Redis.Buyers), len(e.Redis.Tickets)
	if c := e.Coupons; c.TemplateID != "" {
		body.Coupons = &couponsBody{c.TemplateID, c.Total, c.Issued, c.Instances, c.Redeemed, c.Redemptions, c.Returns}
	}
	return body
}
