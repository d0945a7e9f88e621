package adminapi

import (
	"context"
	"net/http"
	"time"

	"sluice/shared/sale"
)

// watch is what a person has to look at.
type watch interface {
	// List returns what fires first, then what is pending, then what was resolved lately.
	List() []sale.Alert
	RunbookOf(name sale.AlertName) string
}

type alertBody struct {
	Alert      sale.AlertName  `json:"alert"`
	State      sale.AlertState `json:"state"`
	Severity   string          `json:"severity"`
	Sale       string          `json:"sale,omitempty"`
	Dependency string          `json:"dependency,omitempty"`
	Summary    string          `json:"summary"`
	Value      float64         `json:"value"`
	Since      time.Time       `json:"since"`
	FiredAt    *time.Time      `json:"fired_at"`    // null while it is pending
	ResolvedAt *time.Time      `json:"resolved_at"` // null until it is resolved
	Runbook    string          `json:"runbook"`
}

func alertBodyOf(a sale.Alert, w watch) alertBody {
	body := alertBody{
		Alert: a.Name, State: a.State, Severity: a.Name.Severity(), Sale: a.SaleID, Dependency: a.Dependency,
		Summary: a.Summary, Value: a.Value, Since: a.Since, Runbook: w.RunbookOf(a.Name),
	}
	if a.State != sale.AlertPending {
		body.FiredAt = &a.FiredAt
	}
	if a.State == sale.AlertResolved {
		body.ResolvedAt = &a.ResolvedAt
	}
	return body
}

// listAlerts is GET /admin/v1/alerts. It asks no store: it answers when none does.
func (a *API) listAlerts(_ context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	c.answer(http.StatusOK, struct {
		Alerts []alertBody `json:"alerts"`
	}{each(c.Alerts.List(), func(alert sale.Alert) alertBody { return alertBodyOf(alert, c.Alerts) })})
}
