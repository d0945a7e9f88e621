package httpapi

import (
	"testing"
	"time"

	"pgregory.net/rapid"
	"sluice/shared/sale"
)

// anyTicket draws tickets with and without each member, of any text and time.
func anyTicket(t *rapid.T) ticketBody {
	number := func(name string) *int64 { return rapid.Ptr(rapid.Int64(), true).Draw(t, name) }
	moment := func(name string) time.Time {
		return time.UnixMilli(rapid.Int64Range(-2e9, 2e12).Draw(t, name)).UTC()
	}
	b := ticketBody{
		Ticket: rapid.String().Draw(t, "ticket"), Sale: rapid.StringMatching(`[a-z0-9-]{1,64}`).Draw(t, "sale"),
		Status: sale.Status(rapid.String().Draw(t, "status")), Reason: sale.Reason(rapid.StringMatching(`[a-z_]*`).Draw(t, "reason")),
		Ahead: number("ahead"), PollAfterMS: rapid.Int64().Draw(t, "poll_after_ms"), OrderID: rapid.String().Draw(t, "order_id"),
		CouponID: rapid.String().Draw(t, "coupon_id"), Amount: number("amount"), Currency: rapid.StringMatching(`([A-Z]{3})?`).Draw(t, "currency"),
		CreatedAt: moment("created_at"), UpdatedAt: moment("updated_at"), SaleState: sale.State(rapid.StringMatching(`[a-z_]*`).Draw(t, "sale_state")),
		ServerTime: moment("server_time"), Replay: rapid.Bool().Draw(t, "replay"),
	}
	if rapid.Bool().Draw(t, "to pay") {
		b.PayBy = moment("pay_by")
	}
	if rapid.Bool().Draw(t, "expected") {
		tenths := rapid.Int64Range(0, 864_000)
		b.ETA = &etaBody{Low: float64(tenths.Draw(t, "low")) / 10, High: float64(tenths.Draw(t, "high")) / 10}
	}
	return b
}

func TestTicketBody_IsWrittenAsTheEncoderWritesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := anyTicket(t)
		if got, want := string(b.appendTo(nil)), string(encode(b)); got != want {
			t.Fatalf("wrote %s\nwant  %s", got, want)
		}
	})
}
