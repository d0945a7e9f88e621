package fulfil

import (
	"log/slog"

	"sluice/shared/sale"
)

// resultHints tell subscribers what became of reservations.
type resultHints interface {
	NotifyResults(saleID string, results []sale.Result) error
}

// newsHints tell gateways of a sale's new state.
type newsHints interface {
	NotifySnapshot(s sale.Snapshot) error
}

// broadcast tells gateways of a sale's state. Who misses it reads the sale again
// within a second.
func broadcast(h newsHints, log *slog.Logger, s sale.Snapshot) {
	if err := h.NotifySnapshot(s); err != nil {
		log.Debug("news not broadcast", "sale", s.SaleID, "error", err)
	}
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
