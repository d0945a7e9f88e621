package pgstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/shared/sale"
)

// BenchmarkOrder is the whole transaction; BenchmarkInsert beside it is what
// the database can do at best: the same rows into the same table, one INSERT of
// arrays and a commit. Their ratio is the price of arbitration.
func BenchmarkOrder(b *testing.B) {
	benchBatches(b, loadedPhones, ordering)
}

// BenchmarkClaim is BenchmarkOrder of a sale of coupons: it writes two rows for each.
func BenchmarkClaim(b *testing.B) {
	benchBatches(b, func(b *testing.B, s *Store) {
		claimable(b, s, "phone", "newcomer", sale.MaxTotal, sale.MaxTotal)
	}, ordering)
}

func loadedPhones(b *testing.B, s *Store) { loaded(b, s, "phone", sale.MaxTotal) }

func ordering(ctx context.Context, s *Store, batch Batch) error {
	_, err := s.Order(ctx, batch)
	return err
}

func BenchmarkInsert(b *testing.B) {
	benchBatches(b, loadedPhones, func(ctx context.Context, s *Store, batch Batch) error {
		c := columnsOf(batch.Reservations)
		_, err := s.pool.Exec(ctx, `
			INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
				state, shown_state, holds_unit, holds_slot, expires_at)
			SELECT r.id, $1, r.user_id, r.slot, r.key, r.rank, r.accepted_at, $2, $3,
				'pending', 'pending', true, true, now() + $4::interval
			FROM unnest($5::text[]::uuid[], $6::text[], $7::smallint[], $8::text[], $9::bigint[], $10::timestamptz[])
				AS r (id, user_id, slot, key, rank, accepted_at)`,
			batch.SaleID, batch.PriceMinor, batch.Currency, 15*time.Minute, c.rids, c.users, c.slots, c.keys, c.ranks, c.times)
		return err
	})
}

func benchBatches(b *testing.B, prepare func(*testing.B, *Store), run func(context.Context, *Store, Batch) error) {
	for _, size := range []int{100, 512} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStore(b)
			prepare(b, s)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				batch := batchOf("phone", freshReservations(size)...)
				b.StartTimer()
				if err := run(b.Context(), s, batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "orders/s")
		})
	}
}
