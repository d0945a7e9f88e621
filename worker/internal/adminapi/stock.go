package adminapi

import (
	"context"
	"net/http"

	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// adjuster adds units to a sale or takes unsold ones away, once an id. The
// adjustment comes back unfinished when Redis could not be asked just now: a loop
// will.
type adjuster interface {
	Adjust(ctx context.Context, by sale.Actor, a sale.Adjustment) (sale.AdjustmentRow, error)
}

type adjustmentBody struct {
	ID    string `json:"adjustment_id"`
	Sale  string `json:"sale"`
	Delta int64  `json:"delta"` // units
	State string `json:"state"` // applied, pending
}

// adjust is POST …/stock. Whoever lost the answer repeats the call, id included.
func (a *API) adjust(ctx context.Context, c call) {
	asked := sale.Adjustment{SaleID: c.sale}
	body, bad := c.body()
	if bad == nil {
		bad = readAdjustment(body, &asked)
	}
	if bad != nil {
		bad.write(c.w)
		return
	}
	row, err := c.Units.Adjust(ctx, c.by, asked)
	if err != nil {
		a.fail(c, err)
		return
	}
	switch answer := (adjustmentBody{row.ID, row.SaleID, row.Delta, "pending"}); row.State {
	case sale.AdjustmentRefused:
		unsold(row.Unsold).write(c.w)
	case sale.AdjustmentApplied:
		answer.State = "applied"
		c.answer(http.StatusOK, answer)
	default:
		c.answer(http.StatusAccepted, answer)
	}
}

func readAdjustment(body []byte, a *sale.Adjustment) *problem {
	var asked struct {
		ID    string `json:"adjustment_id"`
		Delta int64  `json:"delta"`
	}
	if field, err := strictjson.Decode(body, &asked, "adjustment_id", "delta"); err != nil {
		return invalidRequest(field, err.Error())
	}
	a.ID, a.Delta = asked.ID, asked.Delta
	if err := sale.ValidateAdjustmentID(a.ID); err != nil {
		return invalidRequest("adjustment_id", err.Error())
	}
	if a.Delta == 0 || a.Delta > sale.MaxTotal || a.Delta < -sale.MaxTotal {
		return invalidRequest("delta", "delta must be a number of units, positive to add, negative to take away, at most 100000000.")
	}
	return nil
}
