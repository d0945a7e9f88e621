package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

// comparison is what three stores say of one sale. Numbers that a store does not
// have are "-".
type comparison struct {
	saleID                       string
	epoch, free, stock, underWay string
	differences                  []string
}

func (c *comparison) differ(format string, args ...any) {
	c.differences = append(c.differences, fmt.Sprintf(format, args...))
}

// compare looks at the given sales, or at all that Postgres or the catalogue has.
func (s *stores) compare(ctx context.Context, ids []string) ([]comparison, error) {
	announced, err := s.announced(ctx)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		stored, err := s.postgres.Entries(ctx)
		if err != nil {
			return nil, err
		}
		known := maps.Clone(announced)
		for _, e := range stored {
			known[e.ID] = e
		}
		ids = slices.Sorted(maps.Keys(known))
	}
	rows := make([]comparison, len(ids))
	for i, id := range ids {
		if rows[i], err = s.compareSale(ctx, id, announced); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (s *stores) compareSale(ctx context.Context, id string, announced map[string]sale.Entry) (comparison, error) {
	c := comparison{saleID: id, epoch: "-", free: "-", stock: "-", underWay: "-"}
	entry, err := s.postgres.Entry(ctx, id)
	if errors.Is(err, pgstore.ErrNoSale) {
		c.differ("postgres: no such sale")
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.epoch = strconv.FormatInt(entry.Epoch, 10)
	shown, known := announced[id]
	c.compareCatalogue(entry, shown, known)
	state, err := s.postgres.LoadState(ctx, id)
	if err != nil {
		return c, err
	}
	c.free = strconv.FormatInt(state.Total-state.Held, 10)
	if entry.Retired {
		return c, nil // its keys in Redis are gone, as they should
	}
	snapshot, handOff, err := s.redis.Snapshot(ctx, id, entry.Epoch)
	if err != nil && !errors.Is(err, sale.ErrStale) {
		return c, err
	}
	if err != nil || entry.Epoch == 0 {
		c.differ("redis: not live at epoch %d, is at %d", entry.Epoch, snapshot.Epoch)
		return c, nil
	}
	configured, err := s.redis.Configured(ctx, id)
	if err != nil {
		return c, err
	}
	for _, difference := range entry.Differences(configured, state.Total) {
		c.differ("redis: %s", difference)
	}
	c.compareStock(state.Total-state.Held, snapshot, handOff)
	return c, s.compareAllowList(ctx, &c, entry, state.AllowList)
}

// compareAllowList compares who may buy, user by user.
func (s *stores) compareAllowList(ctx context.Context, c *comparison, e sale.Entry, want []string) error {
	if !e.Eligibility.HasAllowList {
		return nil
	}
	users, rev, err := s.redis.AllowList(ctx, e.ID, e.Epoch)
	if err != nil {
		return err
	}
	slices.Sort(users)
	if !slices.Equal(users, want) || rev != e.AllowRev {
		c.differ("redis: its allow list is number %d with %d users, not %d with %d", rev, len(users), e.AllowRev, len(want))
	}
	return nil
}

// compareCatalogue compares what gateways see with what Postgres says.
func (c *comparison) compareCatalogue(entry, shown sale.Entry, known bool) {
	switch {
	case !known && entry.Retired:
		return // it may be forgotten
	case !known:
		c.differ("catalogue: sale is not announced")
		return
	case entry.Rebuilding:
		c.differ("postgres: a load or rebuild is under way or was broken off")
	}
	for _, name := range differentFields(entry, shown) {
		c.differ("catalogue: %s", name)
	}
}

// differentFields names the JSON fields in which two entries differ.
func differentFields(a, b sale.Entry) []string {
	x, y := jsonFields(a), jsonFields(b)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if !reflect.DeepEqual(x[name], y[name]) {
			names = append(names, fmt.Sprintf("%s is %v, not %v", name, y[name], x[name]))
		}
	}
	return names
}

// jsonFields is the entry as the catalogue stores it.
func jsonFields(e sale.Entry) map[string]any {
	fields := map[string]any{}
	text, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("an entry is not JSON: %v", err)) // its fields are plain values
	}
	return fields
}

// compareStock holds Redis to what is free: equal at rest; while reservations
// are under way it may have less, never more.
func (c *comparison) compareStock(free int64, in sale.Snapshot, handOff sale.HandOff) {
	underWay := max(in.Rank-in.Served, handOff.Count)
	c.stock, c.underWay = strconv.FormatInt(in.Stock, 10), strconv.FormatInt(underWay, 10)
	if in.Stock > free || underWay == 0 && in.Stock != free {
		c.differ("redis: stock is %d, not %d", in.Stock, free)
	}
}
