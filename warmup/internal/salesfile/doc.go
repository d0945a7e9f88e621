// Package salesfile reads the file in which an operator writes down sales. It is
// YAML or JSON with one key, sales, a list of:
//
//	id                   [a-z0-9-]{1,64}; needed, and unique in the file
//	kind                 goods; default goods
//	title                1..200 characters, shown to buyers; or a mapping of en,
//	                     which is needed, and zh to such texts; default the id
//	sku                  1..128 characters, for the order system; default the id
//	total                units, 0..100000000; needed
//	price                minor units of the currency for one unit, from 1; needed
//	currency             three capital letters of ISO 4217; default CNY
//	per_user_limit       units one buyer may hold, 1..20; default 1
//	opens_at, closes_at  RFC 3339 with a zone, to the millisecond; needed; a sale
//	                     that is already closed is fine
//	hold                 time to pay, 1s..720h; default 15m
//	mode                 queued (202 at once) or instant (waits for the order, for
//	                     ample stock); default queued
//	rebuy_after_release  whether who lost a reservation may buy again; default true
//	weight               1..1000; share of the workers' pace and of a gateway's
//	                     admission; default 1
//	eligibility          who may buy; default everybody:
//	  min_account_age    such as 720h; default 0s
//	  min_paid_orders    default 0
//	  tags               the buyer needs all of them; default []
//	  allow_list         file of user ids, one a line, empty lines ignored;
//	                     relative to the sales file; default none
//
// The file is an operator's intent, so nothing in it is guessed: unknown and
// repeated keys, a second document, anchors, aliases and YAML tags are refused,
// and a number is not a text. Every error names the path of the field and its
// line. kind coupon and coupon_templates are known and refused:
// this version does not support them.
package salesfile
