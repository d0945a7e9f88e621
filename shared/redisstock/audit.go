package redisstock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"sluice/shared/sale"
)

// EachTicket calls visit for every ticket of an epoch, in no order, a few hundred
// a round trip, until visit returns an error, which it returns. It reads beside a live
// sale: a ticket that moves meanwhile is seen before or after its move, and one may be
// seen twice while the hash grows.
func (c *Client) EachTicket(ctx context.Context, saleID string, epoch int64, visit func(sale.Ticket) error) error {
	it := c.rdb.HScan(ctx, ticketsKey(saleID, epoch), 0, "", 500).Iterator()
	for it.Next(ctx) {
		rid := it.Val()
		if !it.Next(ctx) {
			break
		}
		t, err := unpackTicket(rid, it.Val())
		if err != nil {
			return err
		}
		if err := visit(t); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("cannot read tickets of sale %s: %w", saleID, err)
	}
	return nil
}

// unpackTicket reads the JSON array that the prelude's store writes.
func unpackTicket(rid, packed string) (sale.Ticket, error) {
	t := sale.Ticket{Reservation: sale.Reservation{RID: rid}}
	var created, updated, payBy, served int64
	fields := []any{&t.UserID, &t.Slot, &t.Key, &t.Rank, &t.Status, &t.Reason, &created, &updated, &payBy, &served}
	if err := json.Unmarshal([]byte(packed), &fields); err != nil {
		return t, fmt.Errorf("cannot read ticket %s: %w", rid, err)
	}
	t.AcceptedAt, t.UpdatedAt = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	if payBy != 0 {
		t.PayBy = time.UnixMilli(payBy).UTC()
	}
	return t, nil
}

// Buyers returns the slots that are taken at an epoch, as "user#slot".
func (c *Client) Buyers(ctx context.Context, saleID string, epoch int64) ([]string, error) {
	seen := make(map[string]bool) // SSCAN may repeat a member while the set grows
	it := c.rdb.SScan(ctx, keys(saleID, epoch)[2], 0, "", 500).Iterator()
	for it.Next(ctx) {
		seen[it.Val()] = true
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("cannot read buyers of sale %s: %w", saleID, err)
	}
	return slices.Collect(maps.Keys(seen)), nil
}

// Slots returns the rid that each slot points to at an epoch, by "user#slot".
func (c *Client) Slots(ctx context.Context, saleID string, epoch int64) (map[string]string, error) {
	return c.rids(ctx, saleID, keys(saleID, epoch)[3], "slots")
}

// Keys returns the rid that each idempotency key is bound to at an epoch, by user, line feed
// and key.
func (c *Client) Keys(ctx context.Context, saleID string, epoch int64) (map[string]string, error) {
	return c.rids(ctx, saleID, keys(saleID, epoch)[4], "keys")
}

func (c *Client) rids(ctx context.Context, saleID, key, what string) (map[string]string, error) {
	rids := make(map[string]string)
	it := c.rdb.HScan(ctx, key, 0, "", 500).Iterator()
	for it.Next(ctx) {
		name := it.Val()
		if !it.Next(ctx) {
			break
		}
		rids[name] = it.Val()
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("cannot read %s of sale %s: %w", what, saleID, err)
	}
	return rids, nil
}

// Configured reads what Redis keeps of a sale's configuration, at whatever epoch. What is no
// number is 0, as to the scripts.
func (c *Client) Configured(ctx context.Context, saleID string) (sale.InRedis, error) {
	names := []string{"opens_ms", "closes_ms", "limit", "total", "rebuy", "allow", "paused"}
	values, err := c.rdb.HMGet(ctx, keys(saleID, 0)[0], names...).Result()
	if err != nil {
		return sale.InRedis{}, fmt.Errorf("cannot read the configuration of sale %s: %w", saleID, err)
	}
	n := make([]int64, len(values))
	for i, v := range values {
		text, _ := v.(string)
		n[i], _ = strconv.ParseInt(text, 10, 64)
	}
	return sale.InRedis{
		OpensAt: time.UnixMilli(n[0]).UTC(), ClosesAt: time.UnixMilli(n[1]).UTC(), Limit: int(n[2]), Total: n[3],
		RebuyAfterRelease: n[4] == 1, AllowListed: n[5] == 1, Paused: n[6] == 1,
	}, nil
}

// Adjusted returns the adjustments that moved units at an epoch, or that it was loaded
// with, in no order.
func (c *Client) Adjusted(ctx context.Context, saleID string, epoch int64) ([]sale.Adjustment, error) {
	deltas, err := c.rdb.HGetAll(ctx, keys(saleID, epoch)[9]).Result()
	if err != nil {
		return nil, fmt.Errorf("cannot read adjustments of sale %s: %w", saleID, err)
	}
	var adjusted []sale.Adjustment
	for id, text := range deltas {
		delta, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read adjustment %s of sale %s: %w", id, saleID, err)
		}
		if delta != 0 { // else it was refused
			adjusted = append(adjusted, sale.Adjustment{ID: id, SaleID: saleID, Delta: delta})
		}
	}
	return adjusted, nil
}
