package alerts

import (
	"cmp"
	"slices"
	"time"

	"sluice/shared/sale"
)

// book are alerts by what tells them apart.
type book map[sale.AlertKey]sale.Alert

func bookOf(rows []sale.Alert) book {
	b := make(book, len(rows))
	for _, a := range rows {
		b[a.AlertKey] = a
	}
	return b
}

// evaluated is the book moved on by what a look means.
func (b book) evaluated(v verdict, c Config, now time.Time) book {
	moved := make(book, len(b))
	for key, a := range b {
		if v.judged[key.Name] && !v.unread(key) {
			// Without a condition, which may follow, it is well.
			a = next(a, condition{AlertKey: key, good: true}, c.patience(key.Name), now)
		}
		moved[key] = a
	}
	for _, condition := range v.conditions {
		key := condition.AlertKey
		before, known := b[key]
		if !known {
			before.AlertKey = key
		}
		moved[key] = next(before, condition, c.patience(key.Name), now)
	}
	for key, a := range moved {
		if forgotten(a, now) {
			delete(moved, key)
		}
	}
	return moved
}

// merged is the book of what is written and what this worker has found alone.
func (b book) merged(own book) book {
	both := make(book, len(b))
	for key, a := range b {
		both[key] = merged(a, own[key])
	}
	for key, a := range own {
		if _, known := b[key]; !known {
			both[key] = a
		}
	}
	return both
}

// Changes are what is to be written.
type Changes struct {
	Kept []sale.Alert
	Gone []sale.AlertKey
}

// changesTo says what makes the book another one. A value that moves is not written each
// time: age is when it is.
func (b book) changesTo(to book, values bool) (c Changes) {
	for key, a := range to {
		before, known := b[key]
		if !values {
			before.Value, before.Summary = a.Value, a.Summary
		}
		if !known || before != a {
			c.Kept = append(c.Kept, a)
		}
	}
	for key := range b {
		if _, kept := to[key]; !kept {
			c.Gone = append(c.Gone, key)
		}
	}
	return c
}

func (c Changes) none() bool { return len(c.Kept) == 0 && len(c.Gone) == 0 }

// list is the book as the admin API shows it: what fires, then what may, then what is
// over since less than an hour, each the newest first.
func (b book) list(now time.Time) []sale.Alert {
	list := make([]sale.Alert, 0, len(b))
	for _, a := range b {
		if a.State != sale.AlertResolved || now.Sub(a.ResolvedAt) <= shownFor {
			list = append(list, a)
		}
	}
	order := map[sale.AlertState]int{sale.AlertFiring: 0, sale.AlertPending: 1, sale.AlertResolved: 2}
	slices.SortFunc(list, func(x, y sale.Alert) int {
		return cmp.Or(cmp.Compare(order[x.State], order[y.State]), y.Since.Compare(x.Since), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.SaleID, y.SaleID), cmp.Compare(x.Dependency, y.Dependency))
	})
	return list
}
