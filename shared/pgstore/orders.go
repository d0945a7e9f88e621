package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Batch is what one call of Order decides: reservations of one sale out of one
// or more hand-overs of one epoch.
type Batch struct {
	SaleID       string
	Epoch        int64
	PriceMinor   int64 // minor units of Currency, for each
	Currency     string
	Reservations []sale.Reservation // up to 512, in any order; a rid may be there twice
	Sequences    []uint64           // of the hand-over of each; nil when unknown: then an older epoch is refused
}

// Fate is what Order did with a reservation.
type Fate string

// Fates of a reservation.
const (
	FateOrdered    Fate = "ordered"    // its row is new and holds a unit
	FateKnown      Fate = "known"      // its row was there: nothing moved
	FateDuplicate  Fate = "duplicate"  // rejected: another rid holds the slot
	FateSurplus    Fate = "surplus"    // rejected: no unit left, a bug or a lost Redis
	FateInvalid    Fate = "invalid"    // rejected by Reject: orders refuses it for what it is
	FateSuperseded Fate = "superseded" // rejected: handed over after the rebuild of its epoch had counted
)

// Verdict is what Postgres says about one reservation.
type Verdict struct {
	RID    string
	State  sale.OrderState
	Reason sale.Reason // of a rejected order
	PayBy  time.Time   // Postgres time; zero when nothing was ever to be paid
	Fate   Fate
	Holder string // of one rejected as duplicate: the rid that held the slot, else ""
}

// Result is a batch decided: one verdict for each distinct rid, in the order
// in which the batch first names it, and how many met each fate.
type Result struct {
	Verdicts                                        []Verdict
	Ordered, Known, Duplicates, Surplus, Superseded int
}

// Order decides a batch in one transaction: every reservation gets its row, and
// the sale's stock moves by the number of rows that are new and hold a unit. In a sale
// of coupons each of these is paid from birth and has its coupon, see claims.go. A
// rid that has a row keeps it, so a batch may be repeated, in part or regrouped
// with others, as often as needed; that is also how a caller learns what a
// COMMIT of unknown outcome did. Rejected reservations have a release to apply.
//
// A batch of an older epoch is decided by the rebuild that replaced it, see epochs.go.
//
// ErrNoSale, ErrRetired, ErrStaleEpoch and BeyondError refuse the batch; ErrInvalid says that
// a reservation in it, or several, will be refused for ever: Reject decides one
// that stands alone. Nothing is written.
func (s *Store) Order(ctx context.Context, b Batch) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	result, done, err := s.orderAtOnce(ctx, b)
	if !done && err == nil {
		result, err = s.orderWithCare(ctx, b)
	}
	if errors.Is(err, errTemplateRefuses) {
		result, err = s.orderAlone(ctx, b)
	}
	if invalid(err) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return Result{}, fmt.Errorf("cannot order %d reservations of sale %s: %w", len(b.Reservations), b.SaleID, err)
	}
	return result, nil
}

// orderWithCare decides any batch, unless the sale's template refuses a coupon.
func (s *Store) orderWithCare(ctx context.Context, b Batch) (result Result, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		result, err = (&decision{tx: tx, batch: b}).whole(ctx)
		return err
	})
	return result, err
}

// decision is one transaction of Order.
type decision struct {
	tx       pgx.Tx
	batch    Batch
	alone    bool               // no other order of the sale is under way: its row may change
	hold     time.Duration      // time to pay
	template string             // of a sale of coupons; else ""
	counted  int64              // coupons by which this transaction has moved the template's count
	current  bool               // the batch is of the sale's current epoch
	lastSeq  uint64             // of the hand-overs that are ordered; later ones are superseded
	ordered  []sale.Reservation // their rows are new; they hold units once takeUnits is done
	verdicts map[string]Verdict // by rid
}

// whole decides all of the batch.
func (d *decision) whole(ctx context.Context) (Result, error) {
	reservations, err := distinct(d.batch.Reservations)
	if err != nil {
		return Result{}, err
	}
	d.verdicts = make(map[string]Verdict, len(reservations))
	if err := d.decide(ctx, reservations); err != nil {
		return Result{}, err
	}
	return d.result(reservations), nil
}

// decide takes the locks in the store's order: gate, sales, orders, coupons,
// coupon_templates, sale_stock. The last two rows, which every batch of the sale needs, are held for
// the commit alone. When what stood in the way of a row let go in between, the
// transaction starts over: to insert once more while the others' rows are held would
// turn the order of locks round.
func (d *decision) decide(ctx context.Context, reservations []sale.Reservation) error {
	if err := d.lockSale(ctx); err != nil {
		return err
	}
	reservations, beyond := d.split(reservations)
	if err := d.supersede(ctx, beyond); err != nil {
		return err
	}
	conflicts, err := d.insert(ctx, reservations)
	if err != nil {
		return err
	}
	open, err := d.classify(ctx, conflicts)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return fmt.Errorf("%w: %d reservations without a row", errStartOver, len(open))
	}
	return d.takeUnits(ctx)
}

// lockSale keeps the epoch as it is until the commit.
func (d *decision) lockSale(ctx context.Context) error {
	var epoch int64
	var retired, rebuilding bool
	var currency string
	statements := &pgx.Batch{} // one round trip; the second one's snapshot is taken after the first has waited
	statements.Queue(passGate, d.batch.SaleID)
	statements.Queue(`SELECT epoch, retired, rebuilding, hold, coalesce(template_id, ''), currency FROM sales WHERE sale_id = $1 FOR SHARE`, d.batch.SaleID).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&epoch, &retired, &rebuilding, &d.hold, &d.template, &currency)
		})
	err := d.tx.SendBatch(ctx, statements).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoSale
	case err != nil:
		return fmt.Errorf("lock sale: %w", err)
	case retired:
		return ErrRetired
	}
	if d.template != "" { // whatever the hand-over says: a coupon costs nothing
		d.batch.PriceMinor, d.batch.Currency = 0, currency
	}
	return d.placeEpoch(ctx, epoch, rebuilding)
}

// insert makes an open row of every reservation that is neither decided nor
// finds its slot held, and returns the others. One with a dead letter is
// decided and may have no row: it must not get one once the database would take it. It waits for transactions that
// insert the same rids or slots; the order of the rows is the order of those
// waits, and makes the lowest rank win a slot that the batch names twice.
func (d *decision) insert(ctx context.Context, open []sale.Reservation) (conflicts []sale.Reservation, err error) {
	c := columnsOf(open)
	made, err := collect(ctx, d.tx, scanMade, `
		INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
			state, shown_state, holds_unit, holds_slot, expires_at)
		SELECT r.id, $1, r.user_id, r.slot, r.key, r.rank, r.accepted_at, $2, $3,
			$11, $11, true, true, CASE WHEN $11 = 'pending' THEN now() + $4::interval END
		FROM unnest($5::text[]::uuid[], $6::text[], $7::smallint[], $8::text[], $9::bigint[], $10::timestamptz[])
			AS r (id, user_id, slot, key, rank, accepted_at)
		WHERE NOT EXISTS (SELECT FROM dead_letters d WHERE d.rid = r.id)
		ORDER BY r.user_id COLLATE "C", r.slot, r.rank, r.id
		ON CONFLICT DO NOTHING
		RETURNING id::text, expires_at`,
		d.batch.SaleID, d.batch.PriceMinor, d.batch.Currency, d.hold,
		c.rids, c.users, c.slots, c.keys, c.ranks, c.times, bornAs(d.template))
	if err != nil {
		return nil, fmt.Errorf("insert orders: %w", err)
	}
	for _, row := range made {
		d.verdicts[row.rid] = Verdict{RID: row.rid, State: bornAs(d.template), PayBy: row.payBy, Fate: FateOrdered}
	}
	for _, r := range open {
		if _, ok := d.verdicts[r.RID]; ok {
			d.ordered = append(d.ordered, r)
		} else {
			conflicts = append(conflicts, r)
		}
	}
	return conflicts, nil
}

// takeUnits moves the stock by the number of rows inserted.
func (d *decision) takeUnits(ctx context.Context) error {
	if len(d.ordered) == 0 {
		return nil
	}
	if granted, err := d.issue(ctx); err != nil || !granted {
		return err
	}
	tag, err := d.tx.Exec(ctx, `UPDATE sale_stock SET held = held + $2 WHERE sale_id = $1 AND held + $2 <= total`,
		d.batch.SaleID, len(d.ordered))
	if err != nil {
		return fmt.Errorf("take units: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return d.rejectSurplus(ctx)
	}
	return nil
}

func (d *decision) result(reservations []sale.Reservation) Result {
	result := Result{Verdicts: make([]Verdict, len(reservations))}
	for i, r := range reservations {
		verdict := d.verdicts[r.RID]
		result.Verdicts[i] = verdict
		switch verdict.Fate {
		case FateOrdered:
			result.Ordered++
		case FateKnown:
			result.Known++
		case FateDuplicate:
			result.Duplicates++
		case FateSurplus:
			result.Surplus++
		case FateSuperseded:
			result.Superseded++
		case FateInvalid: // only Reject says so
		}
	}
	return result
}
