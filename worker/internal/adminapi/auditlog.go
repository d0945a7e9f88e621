package adminapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"sluice/shared/sale"
)

// changes are what operators changed.
type changes interface {
	AuditLog(ctx context.Context, saleID string, p sale.Page) ([]sale.Change, error)
}

type changeBody struct {
	ID       int64           `json:"id"`
	At       time.Time       `json:"at"`
	Who      string          `json:"who"`                // the credential that was shown
	Operator string          `json:"operator,omitempty"` // as given beside it
	Address  string          `json:"address"`
	Action   sale.Action     `json:"action"`
	Sale     string          `json:"sale"`
	Subject  string          `json:"subject,omitempty"` // adjustment or dead letter
	Before   json.RawMessage `json:"before"`
	After    json.RawMessage `json:"after"`
}

func changeBodyOf(c sale.Change) changeBody {
	return changeBody{
		ID: c.ID, At: c.At, Who: c.By.Who, Operator: c.By.Operator, Address: c.By.Address,
		Action: c.Action, Sale: c.SaleID, Subject: c.Subject, Before: c.Before, After: c.After,
	}
}

func (a *API) listChanges(ctx context.Context, c call) {
	query, bad := c.query("sale", "limit", "before")
	if bad != nil {
		bad.write(c.w)
		return
	}
	saleID, bad := saleOf(query)
	p, badPage := page(query)
	if bad = first(bad, badPage); bad != nil {
		bad.write(c.w)
		return
	}
	rows, err := c.Changes.AuditLog(ctx, saleID, p)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, struct {
		Changes []changeBody `json:"changes"`
		Next    *int64       `json:"next"`
	}{each(rows, changeBodyOf), next(rows, p, func(c sale.Change) int64 { return c.ID })})
}

// first is the first problem there is.
func first(problems ...*problem) *problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}
