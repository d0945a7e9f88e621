package redisstock

import (
	"fmt"
	"time"

	"sluice/shared/sale"
)

const stateFields = 16

func readState(saleID string, v any) (s sale.Snapshot, live bool, err error) {
	r := row{values: asRow(v)}
	if len(r.values) != stateFields {
		return sale.Snapshot{}, false, fmt.Errorf("state of sale %s has %d fields, want %d", saleID, len(r.values), stateFields)
	}
	s = sale.Snapshot{
		SaleID: saleID, Epoch: r.int(1), Version: r.int(2), SoldOut: r.int(3) == 1, Paused: r.int(4) == 1,
		OpensAt: r.time(5), ClosesAt: r.time(6), Now: r.time(7), Limit: int(r.int(8)), Total: r.int(9),
		Stock: r.int(10), Rank: r.int(11), Accepted: r.int(12), Served: r.int(13), Unpaid: r.int(14), Given: r.int(15),
	}
	return s, r.int(0) == 1, r.err
}

// row reads one row of a reply; the first misfit is kept in err.
type row struct {
	values []any
	err    error
}

func asRow(v any) []any {
	values, _ := v.([]any)
	return values
}

func (r *row) int(i int) int64 {
	if i < len(r.values) {
		if n, ok := r.values[i].(int64); ok {
			return n
		}
	}
	r.misfit(i, "a number")
	return 0
}

func (r *row) string(i int) string {
	if i < len(r.values) {
		if s, ok := r.values[i].(string); ok {
			return s
		}
	}
	r.misfit(i, "a string")
	return ""
}

// time reads milliseconds since the epoch; 0 is the zero time.
func (r *row) time(i int) time.Time {
	ms := r.int(i)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *row) misfit(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("field %d of %v is not %s", i, r.values, want)
	}
}

// ticket reads rid at i and the ticket's fields from j on.
func (r *row) ticket(i, j int) sale.Ticket {
	return sale.Ticket{
		Reservation: sale.Reservation{
			RID: r.string(i), UserID: r.string(j), Slot: int(r.int(j + 1)), Key: r.string(j + 2),
			Rank: r.int(j + 3), AcceptedAt: r.time(j + 6),
		},
		Status: sale.Status(r.string(j + 4)), Reason: sale.Reason(r.string(j + 5)),
		UpdatedAt: r.time(j + 7), PayBy: r.time(j + 8),
	}
}

// codes reads one small integer per item.
func codes(rest []any, want int) ([]int64, error) {
	r := row{values: rest}
	if len(rest) != want {
		return nil, fmt.Errorf("reply has %d items, want %d", len(rest), want)
	}
	out := make([]int64, want)
	for i := range out {
		out[i] = r.int(i)
	}
	return out, r.err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
