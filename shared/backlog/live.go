package backlog

import (
	"cmp"
	"slices"
	"time"

	"sluice/shared/sale"
)

// standing is what is known of a sale in Redis. While Redis does not answer it stays.
type standing int

const (
	unseen  standing = iota // Redis was not asked yet
	live                    // it had the sale at its epoch
	notLive                 // it did not, or the sale is being rebuilt
)

// Standing says whether nobody can buy a sale that should sell.
type Standing struct {
	SaleID  string
	NotLive bool // it was loaded, its window is open, and Redis does not have it: it is lost, or being rebuilt
}

// Standings returns how the sales stand that Redis was asked for, in order of their ids.
func (w *Watch) Standings() []Standing {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Standing, 0, len(w.sales))
	for id, t := range w.sales {
		if t.standing == unseen {
			continue
		}
		sells := t.entry.Epoch > 0 && sale.PhaseAt(t.entry.OpensAt, t.entry.ClosesAt, now) == sale.Open
		all = append(all, Standing{SaleID: id, NotLive: sells && t.standing == notLive})
	}
	slices.SortFunc(all, func(a, b Standing) int { return cmp.Compare(a.SaleID, b.SaleID) })
	return all
}
