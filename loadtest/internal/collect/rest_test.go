package collect

import (
	"testing"

	"sluice/shared/sale"
)

func TestJudgeLater_WhatMovesIsSlowAndWhatStandsStillUnfinishedIsAFault(t *testing.T) {
	t.Parallel()
	unfinished := func(handOff int64) sale.Evidence {
		return sale.Evidence{Total: 5, Configured: 5, Still: true, Waited: true, Redis: sale.RedisEvidence{Loaded: 5, Stock: 5 - 3, Accepted: 3, HandOff: handOff}}
	}
	if v, slow := judgeLater(unfinished(3), unfinished(2)); !slow {
		t.Errorf("it moves, yet is not slow: %+v", v)
	}
	paying := func(result sale.PaymentResult) sale.Evidence {
		e := unfinished(2)
		e.Payments = []sale.Payment{{PaymentEvent: sale.PaymentEvent{EventID: "e", Type: sale.PaymentSucceeded}, Result: result}}
		return e
	}
	if v, slow := judgeLater(paying(sale.PaymentWaits), paying(sale.PaymentOwed)); !slow {
		t.Errorf("its payments are being applied, yet it is not slow: %+v", v)
	}
	showing := func(shown sale.OrderState) sale.Evidence {
		e := unfinished(2)
		e.Orders = []sale.Order{{State: sale.OrderPaid, ShownState: shown}}
		return e
	}
	if v, slow := judgeLater(showing(sale.OrderPending), showing(sale.OrderPaid)); !slow {
		t.Errorf("its orders are being shown, yet it is not slow: %+v", v)
	}
	if v, slow := judgeLater(unfinished(2), unfinished(2)); slow || v.Pass {
		t.Errorf("it stands still: slow %v, %+v", slow, v)
	}
}
