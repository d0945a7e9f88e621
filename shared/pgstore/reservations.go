package pgstore

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// distinct keeps the first of each rid. A rid that is not in canonical form is
// refused: Postgres would answer with another spelling of it.
func distinct(reservations []sale.Reservation) ([]sale.Reservation, error) {
	seen := make(map[string]bool, len(reservations))
	kept := make([]sale.Reservation, 0, len(reservations))
	for _, r := range reservations {
		if seen[r.RID] {
			continue
		}
		if !isRID(r.RID) {
			return nil, fmt.Errorf("%w: rid %q is not a canonical UUID", ErrInvalid, r.RID)
		}
		seen[r.RID] = true
		kept = append(kept, r)
	}
	return kept, nil
}

// isRID reports whether rid is a UUID in canonical form.
func isRID(rid string) bool { return sale.ValidateRID(rid) == nil }

// idsOf are rids in the form in which Postgres keeps them; false when one is not canonical.
func idsOf(rids []string) (ids [][16]byte, ok bool) {
	ids = make([][16]byte, len(rids))
	for i, rid := range rids {
		if !isRID(rid) {
			return nil, false
		}
		ids[i] = uuid.MustParse(rid)
	}
	return ids, true
}

// columns are reservations turned into the arrays that unnest takes.
type columns struct {
	rids, users, keys []string
	slots             []int16
	ranks             []int64
	times             []time.Time
}

func columnsOf(reservations []sale.Reservation) columns {
	n := len(reservations)
	c := columns{
		rids: make([]string, n), users: make([]string, n), keys: make([]string, n),
		slots: make([]int16, n), ranks: make([]int64, n), times: make([]time.Time, n),
	}
	for i, r := range reservations {
		c.rids[i], c.users[i], c.keys[i] = r.RID, r.UserID, r.Key
		c.slots[i], c.ranks[i], c.times[i] = int16(r.Slot), r.Rank, r.AcceptedAt
	}
	return c
}

// made is a row that insert has made.
type made struct {
	rid   string
	payBy time.Time // zero when nothing is to be paid
}

func scanMade(row pgx.CollectableRow) (made, error) {
	var m made
	var payBy *time.Time
	err := row.Scan(&m.rid, &payBy)
	m.payBy = utc(payBy)
	return m, err
}
