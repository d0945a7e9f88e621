package soak

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/jetqueue"
	"sluice/shared/sale"
)

// queueNow reads how many messages of a stream wait for its consumers, and how many are in
// somebody's hands. Nothing waits in the stream of the catalogue.
func queueNow(ctx context.Context, name string, stream jetstream.Stream, note noted) error {
	if name != jetqueue.StreamName && name != jetqueue.PaymentsStream {
		return nil
	}
	var waiting, inHand float64
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		waiting, inHand = waiting+float64(c.NumPending), inHand+float64(c.NumAckPending)
	}
	if err := consumers.Err(); err != nil {
		return fmt.Errorf("cannot read the consumers of stream %s: %w", name, err)
	}
	note(quantity{name: name + " backlog", comesAndGoes: fewWaiting}, waiting)
	note(quantity{name: name + " in hand", comesAndGoes: fewWaiting}, inHand)
	return nil
}

// handOffNow reads how many reservations are in the handoff lists of all sales that are not
// retired.
func (r storeReader) handOffNow(ctx context.Context, note noted) error {
	rows, err := r.postgres.Query(ctx, `SELECT sale_id, epoch FROM sales WHERE NOT retired AND NOT rebuilding`)
	if err != nil {
		return fmt.Errorf("cannot read the epochs of sales: %w", err)
	}
	type live struct {
		ID    string
		Epoch int64
	}
	sales, err := pgx.CollectRows(rows, pgx.RowToStructByPos[live])
	if err != nil {
		return fmt.Errorf("cannot read the epochs of sales: %w", err)
	}
	var listed int64
	for _, s := range sales {
		_, handOff, err := r.stock.Snapshot(ctx, s.ID, s.Epoch)
		switch {
		case errors.Is(err, sale.ErrStale): // retired meanwhile, or being rebuilt
		case err != nil:
			return fmt.Errorf("cannot read the handoff list of sale %s: %w", s.ID, err)
		default:
			listed += handOff.Count
		}
	}
	note(quantity{name: handOffLists, comesAndGoes: fewWaiting}, float64(listed))
	return nil
}
