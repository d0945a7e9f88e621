package sale

import (
	"strings"
	"testing"
	"time"
)

const someOrder = "01935fd2-d6eb-7592-aa3e-cd665a5d9b60"

func TestLateRID_IsAUUIDv7OfItsOwnJustBehindTheOrder(t *testing.T) {
	t.Parallel()
	late := LateRID(someOrder)
	if err := ValidateRID(late); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(late, "01935fd2-d6ec-7") || !strings.ContainsRune("89ab", rune(late[19])) || late <= someOrder {
		t.Errorf("late rid %s of %s", late, someOrder)
	}
	if late != LateRID(someOrder) || LateRID(late) == late || LateRID("01935fd2-d6eb-7592-aa3e-cd665a5d9b61")[14:] == late[14:] {
		t.Errorf("late rid %s is not a function of the order's id alone", late)
	}
	if last := LateRID("ffffffff-ffff-ffff-ffff-ffffffffffff"); ValidateRID(last) != nil {
		t.Errorf("late rid %s", last)
	}
	if a := LateAttempt(Order{Reservation: Reservation{RID: someOrder, UserID: "ann"}}); a.RID != late || a.UserID != "ann" || len(a.Key) > 64 {
		t.Errorf("attempt %+v", a)
	}
}

func TestPaymentEvent_NamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	good := PaymentEvent{EventID: "e-1", Type: PaymentSucceeded, OrderID: someOrder, AmountMinor: 0, Currency: "CNY",
		OccurredAt: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	for want, spoil := range map[string]func(*PaymentEvent){
		"":             func(*PaymentEvent) {},
		"type":         func(e *PaymentEvent) { e.Type = "payment.made" },
		"event_id":     func(e *PaymentEvent) { e.EventID = "" },
		"event_id ":    func(e *PaymentEvent) { e.EventID = "e\x00" },
		"event_id  ":   func(e *PaymentEvent) { e.EventID = strings.Repeat("e", 129) },
		"event_id   ":  func(e *PaymentEvent) { e.EventID = "é" },
		"order_id":     func(e *PaymentEvent) { e.OrderID = strings.ToUpper(someOrder) },
		"amount":       func(e *PaymentEvent) { e.AmountMinor = -1 },
		"amount ":      func(e *PaymentEvent) { e.AmountMinor = 1<<53 + 1 },
		"currency":     func(e *PaymentEvent) { e.Currency = "cny" },
		"currency ":    func(e *PaymentEvent) { e.Currency = "" },
		"occurred_at":  func(e *PaymentEvent) { e.OccurredAt = time.Time{} },
		"occurred_at ": func(e *PaymentEvent) { e.OccurredAt = good.OccurredAt.AddDate(9000, 0, 0) },
	} {
		e := good
		spoil(&e)
		if field, err := e.Validate(); field != strings.TrimSpace(want) || (err == nil) != (field == "") {
			t.Errorf("%s: field %q, error %v", want, field, err)
		}
	}
}
