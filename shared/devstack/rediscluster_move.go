package devstack

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// MoveSlot moves the slot of a key from its master to another one, key by key, as an
// operator who spreads a cluster anew does, while it is used. halfway, when it is not nil,
// is called once some of the slot's keys are here and some there.
func (c *RedisCluster) MoveSlot(ctx context.Context, key string, to *Server, halfway func()) error {
	from, err := c.MasterOf(ctx, key)
	if err != nil {
		return err
	}
	number, err := slotOf(ctx, to, key)
	if err != nil {
		return err
	}
	m := move{from: from, to: to, slot: strconv.Itoa(number)}
	if err := m.begin(ctx); err != nil {
		return err
	}
	for first := true; ; first = false {
		moved, err := m.some(ctx, first)
		if err != nil {
			return err
		}
		if first && halfway != nil {
			halfway()
		}
		if moved == 0 {
			break
		}
	}
	return m.end(ctx, c)
}

// move is of one slot.
type move struct {
	from, to     *Server
	slot         string
	fromID, toID string
}

func (m *move) begin(ctx context.Context) (err error) {
	if m.fromID, err = redisCommand(ctx, m.from, "CLUSTER", "MYID"); err != nil {
		return err
	}
	if m.toID, err = redisCommand(ctx, m.to, "CLUSTER", "MYID"); err != nil {
		return err
	}
	if m.fromID == m.toID {
		return fmt.Errorf("cannot move slot %s: %s has it", m.slot, m.to.name)
	}
	if _, err = redisCommand(ctx, m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.fromID); err != nil {
		return err
	}
	_, err = redisCommand(ctx, m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.toID)
	return err
}

// some moves a part of the slot's keys: at first two of them.
func (m *move) some(ctx context.Context, first bool) (moved int, err error) {
	most := "100"
	if first {
		most = "2"
	}
	text, err := redisCommand(ctx, m.from, "CLUSTER", "GETKEYSINSLOT", m.slot, most)
	if err != nil || text == "" {
		return 0, err
	}
	keys := strings.Split(text, "\n")
	args := append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(m.to.port.number), "", "0", "5000", "KEYS"}, keys...)
	_, err = redisCommand(ctx, m.from, args...)
	return len(keys), err
}

// end says who has the slot now, first to the new master, then to all that can be told.
func (m *move) end(ctx context.Context, c *RedisCluster) error {
	told := []*Server{m.to, m.from}
	nodes, err := c.nodes(ctx, m.to)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		s, err := c.server(n.addr)
		if err != nil {
			return err
		}
		if n.master && !n.gone && s != m.to && s != m.from {
			told = append(told, s)
		}
	}
	for _, s := range told {
		if _, err := redisCommand(ctx, s, "CLUSTER", "SETSLOT", m.slot, "NODE", m.toID); err != nil {
			return err
		}
	}
	return nil
}
