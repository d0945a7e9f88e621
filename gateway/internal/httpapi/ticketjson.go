package httpapi

import (
	"strconv"
	"time"
)

// usualTicket is more than nearly every ticket takes as JSON, in bytes.
const usualTicket = 640

// appendTo writes by hand what encoding/json writes of a ticket, since every accepted
// attempt and every poll passes here.
func (b *ticketBody) appendTo(to []byte) []byte {
	to = appendText(append(to, `{"ticket":`...), b.Ticket)
	to = appendText(append(to, `,"sale":`...), b.Sale)
	to = appendText(append(to, `,"status":`...), string(b.Status))
	if b.Reason != "" {
		to = appendText(append(to, `,"reason":`...), string(b.Reason))
	}
	if b.Ahead != nil {
		to = strconv.AppendInt(append(to, `,"ahead":`...), *b.Ahead, 10)
	}
	to = b.ETA.appendTo(append(to, `,"eta":`...))
	to = strconv.AppendInt(append(to, `,"poll_after_ms":`...), b.PollAfterMS, 10)
	to = b.appendOrder(to)
	to = appendMoment(append(to, `,"created_at":`...), b.CreatedAt)
	to = appendMoment(append(to, `,"updated_at":`...), b.UpdatedAt)
	to = appendText(append(to, `,"sale_state":`...), string(b.SaleState))
	to = appendMoment(append(to, `,"server_time":`...), b.ServerTime)
	if b.Replay {
		to = append(to, `,"replay":true`...)
	}
	return append(to, '}')
}

// appendOrder writes what a ticket has once there is an order.
func (b *ticketBody) appendOrder(to []byte) []byte {
	if b.OrderID != "" {
		to = appendText(append(to, `,"order_id":`...), b.OrderID)
	}
	if b.CouponID != "" {
		to = appendText(append(to, `,"coupon_id":`...), b.CouponID)
	}
	if b.Amount != nil {
		to = strconv.AppendInt(append(to, `,"amount":`...), *b.Amount, 10)
	}
	if b.Currency != "" {
		to = appendText(append(to, `,"currency":`...), b.Currency)
	}
	if !b.PayBy.IsZero() {
		to = appendMoment(append(to, `,"pay_by":`...), b.PayBy)
	}
	return to
}

// appendTo writes seconds, which are tenths up to a day.
func (e *etaBody) appendTo(to []byte) []byte {
	if e == nil {
		return append(to, "null"...)
	}
	to = strconv.AppendFloat(append(to, `{"low":`...), e.Low, 'f', -1, 64)
	to = strconv.AppendFloat(append(to, `,"high":`...), e.High, 'f', -1, 64)
	return append(to, '}')
}

func appendMoment(to []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(to, '"'), time.RFC3339Nano), '"')
}

// appendText quotes text, which is letters and digits nearly always.
func appendText(to []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return append(to, encode(text)...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}
