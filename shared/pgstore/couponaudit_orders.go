package pgstore

import "sluice/shared/sale"

// couponOrderChecks hold what orders were told about coupons of the template $1 against
// what has happened to these, and against the ledger: of all orders there ever were, or of
// those of the span.
func couponOrderChecks(within span) []couponCheck {
	of := ofOrders(within)
	return []couponCheck{
		{sale.CheckoutAnswers, false, of + couponAnswers},
		{sale.CheckoutQuote, true, of + quoteSums()},
		{sale.CheckoutGiven, false, of + `
			SELECT format('order %s of user %s was told of discounts of %s, the ledger gives it %s', order_id, user_id, sum(told), sum(given))
			FROM (
				SELECT user_id, order_id, discount AS told, 0 AS given FROM (` + toldOf("involved") + `) told
				UNION ALL
				SELECT user_id, order_id, 0, amount FROM involved JOIN coupon_ledger USING (user_id, order_id) WHERE event <> 'refund'
			) both_of_them GROUP BY user_id, order_id HAVING sum(told) <> sum(given)`},
		{sale.LedgerShares, true, of + ledgerShares()},
		{sale.LedgerReversed, false, of + `, reversed AS MATERIALIZED (
				SELECT DISTINCT user_id, order_id FROM involved JOIN coupon_ledger USING (user_id, order_id) WHERE event = 'refund'
				UNION
				SELECT user_id, order_id FROM involved JOIN checkout_refunds USING (user_id, order_id)
			)
			SELECT format('order %s of user %s: of coupon %s on %s %s %s bears %s after refunds%s', order_id, user_id, coupon_id, part, part_id, party, net,
				CASE WHEN net > 0 THEN ' of the whole order' END)
			FROM (
				SELECT l.user_id, l.order_id, l.coupon_id, l.cycle, l.part, l.part_id, l.party, sum(l.amount) AS net
				FROM reversed JOIN coupon_ledger l USING (user_id, order_id) JOIN coupons c ON c.id = l.coupon_id
				WHERE c.template_id = $1 GROUP BY 1, 2, 3, 4, 5, 6, 7
			) borne
			WHERE net < 0 OR net > 0 AND EXISTS (
				SELECT FROM checkout_refunds f
				WHERE f.user_id = borne.user_id AND f.order_id = borne.order_id AND (f.answer ->> 'full')::boolean
			)`},
		{sale.LedgerRefunds, false, of + refundSums},
	}
}

// ofOrders begins a statement about orders: those that have had such a coupon, or have
// rows of the ledger for one; within the span,
// in which a coupon has changed of which something has happened.
func ofOrders(within span) string {
	return `
	WITH involved AS MATERIALIZED (
		SELECT c.user_id, e.order_id FROM coupons c JOIN coupon_events e ON e.coupon_id = c.id
		WHERE c.template_id = $1 AND e.order_id <> ''` + within.since("e.at") + within.since("c.changed_at") + `
		UNION
		SELECT l.user_id, l.order_id FROM coupons c JOIN coupon_ledger l ON l.coupon_id = c.id
		WHERE c.template_id = $1` + within.since("l.at") + `
	)`
}

// toldOf are the coupons whose discounts redeemed orders were given, as they were told.
func toldOf(orders string) string {
	return `
	SELECT k.user_id, k.order_id, k.result ->> 'currency' AS currency, 'redeem' AS event, r ->> 'coupon_id' AS coupon_id, (r ->> 'discount')::numeric AS discount
	FROM ` + orders + ` JOIN checkouts k USING (user_id, order_id), jsonb_array_elements(k.result -> 'redeemed') r
	WHERE k.state = 'redeemed'
	UNION ALL
	SELECT k.user_id, k.order_id, k.result ->> 'currency', 'honour', m ->> 'coupon_id', (m ->> 'discount')::numeric
	FROM ` + orders + ` JOIN checkouts k USING (user_id, order_id), jsonb_array_elements(k.result -> 'missing') m
	WHERE k.state = 'redeemed' AND m ->> 'policy' = 'honour'`
}

// sharesOf are the shares of the quotes of redeemed orders.
func sharesOf(orders string) string {
	return `
	SELECT k.user_id, k.order_id, s.coupon_id, CASE WHEN s.parcel THEN 'parcel' ELSE 'line' END AS part,
		CASE WHEN s.parcel THEN coalesce(s.merchant, '') ELSE s.line_id END AS part_id, s.party, s.discount
	FROM ` + orders + ` JOIN checkouts k USING (user_id, order_id),
		jsonb_to_recordset(k.shares) AS s (coupon_id text, line_id text, merchant text, parcel boolean, party text, discount numeric)
	WHERE k.state = 'redeemed'`
}

// saidOf are the discounts that quotes and answers of redeemed orders have.
func saidOf(orders string) string {
	return `
	SELECT k.user_id, k.order_id, d.what, d.id, d.discount
	FROM ` + orders + ` JOIN checkouts k USING (user_id, order_id), LATERAL (
		SELECT 'line' AS what, id, discount FROM jsonb_to_recordset(k.quote -> 'lines') AS l (id text, discount numeric)
		UNION ALL
		SELECT 'parcel', merchant, discount FROM jsonb_to_recordset(k.quote -> 'shipping') AS p (merchant text, discount numeric)
		UNION ALL
		SELECT 'coupon', id, discount FROM jsonb_to_recordset(k.quote -> 'coupons') AS c (id text, discount numeric)
		UNION ALL
		SELECT 'answer about coupon', coupon_id, discount
		FROM jsonb_to_recordset((k.result -> 'redeemed') || (k.result -> 'missing')) AS r (coupon_id text, discount numeric)
		UNION ALL
		SELECT 'whole', '', (k.quote ->> 'discount')::numeric
	) d
	WHERE k.state = 'redeemed'`
}

// couponAnswers: an order has redeemed and returned what it was told.
const couponAnswers = `, told AS (
		SELECT k.user_id, k.order_id, (r ->> 'coupon_id')::uuid AS coupon_id, 'redeemed' AS what
		FROM involved JOIN checkouts k USING (user_id, order_id), jsonb_array_elements(k.result -> 'redeemed') r
		UNION ALL
		SELECT f.user_id, f.order_id, r::uuid, 'returned'
		FROM involved JOIN checkout_refunds f USING (user_id, order_id), jsonb_array_elements_text(f.answer -> 'returned') r
	), told_of_template AS (
		SELECT t.* FROM told t JOIN coupons c ON c.id = t.coupon_id WHERE c.template_id = $1
	), happened AS (
		SELECT c.user_id, e.order_id, e.coupon_id, CASE WHEN e.event = 'return' THEN 'returned' ELSE 'redeemed' END AS what
		FROM coupons c JOIN coupon_events e ON e.coupon_id = c.id JOIN involved i ON i.user_id = c.user_id AND i.order_id = e.order_id
		WHERE c.template_id = $1 AND e.event IN ('redeem', 'late_redeem', 'return')
	)
	SELECT CASE WHEN h.what IS NULL
		THEN format('order %s of user %s was told that it has %s coupon %s, which has not happened', order_id, user_id, what, coupon_id)
		ELSE format('order %s of user %s has %s coupon %s, and was not told', order_id, user_id, what, coupon_id) END
	FROM told_of_template t FULL JOIN happened h USING (user_id, order_id, coupon_id, what)
	WHERE t.what IS NULL OR h.what IS NULL`

// quoteSums: a redeemed order's shares add up to the discounts of its quote, by line, by
// parcel and by coupon, and to those that it was told of. Most orders are right, so one
// sum each has to do at first, in which each amount counts as often as its key's hash says:
// only orders of which it is not zero are looked at by line.
func quoteSums() string {
	return `, suspects AS MATERIALIZED (
		SELECT user_id, order_id FROM (
			SELECT user_id, order_id, discount * hashtextextended(what || ':' || id, 0) AS weighed FROM (` + saidOf("involved") + `) said
			UNION ALL
			SELECT user_id, order_id, -discount * (hashtextextended(part || ':' || part_id, 0)::numeric + hashtextextended('coupon:' || coupon_id, 0)
				+ hashtextextended('answer about coupon:' || coupon_id, 0) + hashtextextended('whole:', 0))
			FROM (` + sharesOf("involved") + `) shares
		) all_of_them GROUP BY 1, 2 HAVING sum(weighed) <> 0
	), said AS (` + saidOf("suspects") + `), shares AS (` + sharesOf("suspects") + `), summed AS (
		SELECT user_id, order_id, part AS what, part_id AS id, sum(discount) AS discount FROM shares GROUP BY 1, 2, 3, 4
		UNION ALL
		SELECT user_id, order_id, w.what, coupon_id, sum(discount) FROM shares, (VALUES ('coupon'), ('answer about coupon')) w (what) GROUP BY 1, 2, 3, 4
		UNION ALL
		SELECT user_id, order_id, 'whole', '', sum(discount) FROM shares GROUP BY 1, 2
	)
	SELECT format('order %s of user %s: the %s %s has a discount of %s, its shares add up to %s', order_id, user_id, what, id,
		coalesce(said.discount, 0), coalesce(summed.discount, 0))
	FROM said FULL JOIN summed USING (user_id, order_id, what, id)
	WHERE coalesce(said.discount, 0) <> coalesce(summed.discount, 0)`
}

// ledgerShares: the ledger has the shares of those coupons whose discounts were given, and
// nothing else. As quoteSums, it looks by line at orders only that are wrong as a whole.
func ledgerShares() string {
	due := func(orders string) string {
		return `
		SELECT s.user_id, s.order_id, c.id AS coupon_id, t.event, t.currency, s.part, s.part_id, s.party, s.discount AS amount
		FROM (` + sharesOf(orders) + `) s JOIN (` + toldOf(orders) + `) t USING (user_id, order_id, coupon_id) JOIN coupons c ON c.id = s.coupon_id::uuid
		WHERE c.template_id = $1`
	}
	const given = `
		SELECT l.user_id, l.order_id, l.coupon_id, l.event, l.currency, l.part, l.part_id, l.party, l.amount::numeric AS amount
		FROM coupons c JOIN coupon_ledger l ON l.coupon_id = c.id
		WHERE c.template_id = $1 AND l.event <> 'refund'`
	const weighed = `user_id, order_id, amount * hashtextextended(concat_ws(':', coupon_id, event, currency, part, party, part_id), 0) AS weighed`
	const summed = `user_id, order_id, coupon_id, event, currency, part, part_id, party, sum(amount) AS amount`
	return `, suspects AS MATERIALIZED (
		SELECT user_id, order_id FROM (
			SELECT ` + weighed + ` FROM (` + due("involved") + `) due
			UNION ALL
			SELECT user_id, order_id, -weighed FROM (SELECT ` + weighed + ` FROM (` + given + `) given) negative
		) all_of_them GROUP BY 1, 2 HAVING sum(weighed) <> 0
	), due AS (
		SELECT ` + summed + ` FROM (` + due("suspects") + `) each GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
	), given AS (
		SELECT ` + summed + ` FROM (` + given + `) each JOIN suspects USING (user_id, order_id) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
	)
	SELECT format('order %s of user %s: of coupon %s on %s %s %s bears %s %s (%s), the quote has %s for it', order_id, user_id, coupon_id, part, part_id, party,
		coalesce(given.amount, 0), currency, event, coalesce(due.amount, 0))
	FROM due FULL JOIN given USING (user_id, order_id, coupon_id, event, currency, part, part_id, party)
	WHERE coalesce(due.amount, 0) <> coalesce(given.amount, 0)`
}

// refundSums: what the ledger takes back for a refund is what it was told, by parts and by
// parties.
const refundSums = `, told AS (
		SELECT f.user_id, f.order_id, f.refund_id,
			(SELECT coalesce(sum((d ->> 'discount')::numeric), 0) FROM jsonb_array_elements((f.answer -> 'lines') || (f.answer -> 'shipping')) d) AS parts,
			(SELECT coalesce(sum((d ->> 'discount')::numeric), 0) FROM jsonb_array_elements(f.answer -> 'bearers') d) AS parties
		FROM involved JOIN checkout_refunds f USING (user_id, order_id)
	), reversed AS (
		SELECT l.user_id, l.order_id, l.refund_id, -sum(l.amount) AS amount
		FROM involved JOIN coupon_ledger l USING (user_id, order_id)
		WHERE l.event = 'refund' GROUP BY 1, 2, 3
	)
	SELECT format('order %s of user %s: refund %s reverses discounts of %s, borne by parties %s; the ledger says %s', order_id, user_id, refund_id,
		coalesce(parts, 0), coalesce(parties, 0), coalesce(amount, 0))
	FROM told FULL JOIN reversed USING (user_id, order_id, refund_id)
	WHERE coalesce(parts, 0) <> coalesce(amount, 0) OR coalesce(parties, 0) <> coalesce(amount, 0)`
