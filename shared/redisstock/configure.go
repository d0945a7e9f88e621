package redisstock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sluice/lua"
	"sluice/shared/sale"
)

// notMade says to configure.lua that no allow list was made beside the one in force.
const notMade = -1

// Configure takes an entry's window, limit and flags into a live sale, unless Redis
// has one of its rev or newer. Units are not moved: the total has a way of its own. A
// sale that nobody is listed for any more loses its allow list; a new list must be
// there before, see StageAllow and SwapAllow.
func (c *Client) Configure(ctx context.Context, e sale.Entry) (sale.Snapshot, sale.Configured, error) {
	return c.configure(ctx, e, notMade)
}

// SwapAllow is Configure once StageAllow has brought all users of the entry's allow list: it
// takes the place of the one in force, with the flag, in one step. Configured.Unlisted
// says that some are missing.
func (c *Client) SwapAllow(ctx context.Context, e sale.Entry, users int64) (sale.Snapshot, sale.Configured, error) {
	return c.configure(ctx, e, users)
}

func (c *Client) configure(ctx context.Context, e sale.Entry, made int64) (sale.Snapshot, sale.Configured, error) {
	snap, rest, err := c.run(ctx, lua.Configure, e.ID, e.Epoch, e.Rev, millis(e.OpensAt), millis(e.ClosesAt), e.PerUserLimit,
		flag(e.RebuyAfterRelease), flag(e.Eligibility.HasAllowList), flag(e.Paused), e.AllowRev, made)
	if err != nil {
		return snap, sale.Configured{}, err
	}
	reply, err := codes(rest, 2)
	if err != nil {
		return snap, sale.Configured{}, fmt.Errorf("cannot read reply of configure: %w", err)
	}
	return snap, sale.Configured{Changed: reply[0] == 1, Unlisted: reply[1] == 1}, nil
}

// StageAllow adds users to the list that is made beside the allow list in force, none to
// begin it. It reports false when a later list is in force or being made.
func (c *Client) StageAllow(ctx context.Context, e sale.Entry, users []string) (staged bool, err error) {
	args := make([]any, 0, len(users)+1)
	args = append(args, e.AllowRev)
	for _, u := range users {
		args = append(args, u)
	}
	_, rest, err := c.run(ctx, lua.Allow, e.ID, e.Epoch, args...)
	if err != nil {
		return false, err
	}
	reply, err := codes(rest, 1)
	if err != nil {
		return false, fmt.Errorf("cannot read reply of allow: %w", err)
	}
	return reply[0] == 1, nil
}

// AllowList reads the allow list of an epoch, live or not, and its number. A list that
// lost users since it was brought is none, and so is an empty one.
func (c *Client) AllowList(ctx context.Context, saleID string, epoch int64) (users []string, rev int64, err error) {
	failed := func(err error) ([]string, int64, error) {
		return nil, 0, fmt.Errorf("cannot read the allow list of sale %s: %w", saleID, err)
	}
	k := keys(saleID, epoch)
	var noted struct {
		Rev  int64  `redis:"allow_rev"`
		Size *int64 `redis:"allow_size"`
	}
	if err := c.rdb.HMGet(ctx, k[7], "allow_rev", "allow_size").Scan(&noted); err != nil && !errors.Is(err, redis.Nil) {
		return failed(err)
	}
	seen := make(map[string]bool) // SSCAN may repeat a member
	it := c.rdb.SScan(ctx, k[8], 0, "", 2000).Iterator()
	for it.Next(ctx) {
		if !seen[it.Val()] {
			seen[it.Val()] = true
			users = append(users, it.Val())
		}
	}
	if err := it.Err(); err != nil {
		return failed(err)
	}
	if noted.Size != nil && *noted.Size != int64(len(users)) {
		return nil, 0, nil
	}
	return users, noted.Rev, nil
}
