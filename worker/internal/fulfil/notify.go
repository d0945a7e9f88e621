package fulfil

import (
	"log/slog"

	"sluice/shared/sale"
)

// resultHints tell subscribers what became of reservations.
type resultHints interface {
	NotifyResults(saleID string, results []sale.Result) error
}

// tell sends results as a hint. A lost one costs its reader a poll.
func tell(h resultHints, log *slog.Logger, saleID string, results []sale.Result) {
	if len(results) == 0 {
		return
	}
	if err := h.NotifyResults(saleID, results); err != nil {
		log.Debug("results not notified", "sale", saleID, "error", err)
	}
}
