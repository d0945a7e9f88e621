package calibrate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/report"
)

// readTimeout bounds the count of all orders, beside a worker that may still make some.
const readTimeout = 30 * time.Second

// countOrders counts the orders that the database has of the mix's sales, by state.
func countOrders(ctx context.Context, url string, m mix.Mix) (o report.Orders, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return o, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }() // it only read
	var ids []string
	for _, s := range m.Expanded() {
		ids = append(ids, s.ID)
	}
	err = db.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state <> 'rejected'), count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'paid'),
			count(*) FILTER (WHERE state = 'expired'), count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'rejected'),
			count(*) FILTER (WHERE state = 'refunded')
		FROM orders WHERE sale_id = ANY($1)`, ids).Scan(&o.Total, &o.Pending, &o.Paid, &o.Expired, &o.Cancelled, &o.Rejected, &o.Refunded)
	if err != nil {
		return o, fmt.Errorf("cannot count orders: %w", err)
	}
	return o, nil
}
