package pgstore

import "sluice/shared/sale"

// couponRowChecks read the coupons of the template $1 that have changed within the span, by
// index; of locks they read all that are past their deadline. Each has one text column, as
// have those of orders.
func couponRowChecks(within span) []couponCheck {
	changed := within.since("c.changed_at")
	return []couponCheck{
		{sale.CouponTraces, false, `
			SELECT format('coupon %s of user %s has no order that holds a unit', c.id, c.user_id)
			FROM coupons c LEFT JOIN orders o ON o.id = c.id AND o.holds_unit
			WHERE c.template_id = $1 AND o.id IS NULL` + changed},
		{sale.CouponIsThere, false, `
			SELECT format('order %s of user %s holds a unit and has no coupon of template %s', o.id, o.user_id, s.template_id)
			FROM sales s JOIN orders o ON o.sale_id = s.sale_id AND o.holds_unit LEFT JOIN coupons c ON c.id = o.id AND c.template_id = s.template_id
			WHERE s.template_id = $1 AND c.id IS NULL` + within.since("o.created_at")},
		{sale.CouponSameOwner, false, `
			SELECT format('coupon %s is of user %s slot %s sale %s, its order of user %s slot %s sale %s',
				c.id, c.user_id, c.slot, c.sale_id, o.user_id, o.slot, o.sale_id)
			FROM coupons c JOIN orders o ON o.id = c.id
			WHERE c.template_id = $1 AND (c.user_id, c.slot, c.sale_id) <> (o.user_id, o.slot, o.sale_id)` + changed},
		{sale.CouponState, false, couponStates + changed},
		{sale.CouponUse, false, `
			SELECT format('coupon %s of user %s is %s in cycle %s, after %s redemptions and %s returns', id, user_id, state, cycle, redemptions, returns)
			FROM (
				SELECT c.id, c.user_id, c.state, c.cycle, count(*) FILTER (WHERE e.event IN ('redeem', 'late_redeem')) AS redemptions,
					count(*) FILTER (WHERE e.event = 'return') AS returns
				FROM coupons c LEFT JOIN coupon_events e ON e.coupon_id = c.id
				WHERE c.template_id = $1` + changed + ` GROUP BY c.id
			) used
			WHERE cycle <> 1 + returns OR redemptions - returns <> (state = 'redeemed')::int`},
		// The job that lapses locks runs every second.
		{sale.CouponLapses, false, `
			SELECT format('coupon %s of user %s is locked by order %s, whose deadline has passed at %s', id, user_id, order_id,
				to_char(locked_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
			FROM coupons WHERE template_id = $1 AND state = 'locked' AND locked_until < now() - interval '60 seconds'`},
	}
}

// couponStates: what the last event leaves a coupon in.
const couponStates = `
	SELECT format('coupon %s of user %s is %s of order %s in cycle %s, its last event is %s of order %s in cycle %s', c.id, c.user_id, c.state,
		coalesce(c.order_id, '-'), c.cycle, coalesce(e.event, 'claim'), coalesce(e.order_id, '-'), coalesce(e.cycle, 1))
	FROM coupons c LEFT JOIN LATERAL (
		SELECT event, order_id, cycle FROM coupon_events WHERE coupon_id = c.id ORDER BY id DESC LIMIT 1
	) e ON true
	WHERE c.template_id = $1 AND NOT (coalesce(e.cycle, 1) = c.cycle AND CASE c.state
		WHEN 'issued' THEN coalesce(e.event, 'claim') IN ('claim', 'release', 'lapse', 'return')
		WHEN 'locked' THEN coalesce(e.event = 'lock' AND e.order_id = c.order_id, false)
		WHEN 'redeemed' THEN coalesce(e.event IN ('redeem', 'late_redeem') AND e.order_id = c.order_id, false)
		WHEN 'expired' THEN coalesce(e.event IN ('expire', 'release', 'lapse', 'return'), false)
		ELSE coalesce(e.event = c.state, false)
	END)`
