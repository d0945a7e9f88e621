// Package salesfile reads the file in which an operator writes down sales and templates
// of coupons. It is YAML or JSON with the keys sales and coupon_templates, of which one
// may be left out. sales is a list of:
//
//	id                   [a-z0-9-]{1,64}; needed, and unique in the file
//	kind                 goods or coupon; default goods
//	title                1..200 characters, shown to buyers; or a mapping of en,
//	                     which is needed, and zh to such texts; default the id
//	sku                  1..128 characters, for the order system; default the id;
//	                     of coupons their template, and not to be written
//	template             of coupons, and needed there: an id under coupon_templates,
//	                     or of a template that Postgres has
//	total                units, 0..100000000; needed; of coupons at most the
//	                     template's
//	price                minor units of the currency for one unit, from 1; needed; of
//	                     coupons 0, and not needed
//	currency             three capital letters of ISO 4217; default CNY, of coupons the
//	                     template's
//	per_user_limit       units one buyer may hold, 1..20; default 1
//	opens_at, closes_at  RFC 3339 with a zone, to the millisecond; needed; a sale
//	                     that is already closed is fine
//	hold                 time to pay, 1s..720h; default 15m; not of coupons
//	mode                 queued (202 at once) or instant (waits for the order, for
//	                     ample stock); default queued
//	rebuy_after_release  whether who lost a reservation may buy again; default true;
//	                     not of coupons
//	weight               1..1000; share of the workers' pace and of a gateway's
//	                     admission; default 1
//	eligibility          who may buy; default everybody:
//	  min_account_age    such as 720h; default 0s
//	  min_paid_orders    default 0
//	  tags               the buyer needs all of them; default []
//	  allow_list         file of user ids, one a line, empty lines ignored;
//	                     relative to the sales file; default none
//
// coupon_templates is a list of coupon.Rule:
//
//	id                     [a-z0-9-]{1,64}; needed, and unique in the file
//	kind                   amount, percent or free_shipping; needed
//	value                  minor units of an amount, 1..100 as the percentage paid, 0 of
//	                       free shipping; default 0
//	min_amount             threshold in minor units; default 0
//	cap                    highest discount in minor units, 0 for none and of an amount;
//	                       default 0
//	total                  coupons there are, 0..100000000; needed
//	currency               default CNY
//	scope                  merchants, skus, categories: lists of at most 100 names; default
//	                       [], which is any
//	layer                  merchant or platform; default platform
//	group                  its own group; default ""
//	stack_with             groups that it combines with; default []
//	bearers                party and bps of each who pays, with the sum 10000; default the
//	                       platform alone
//	starts_at, ends_at     default no bound
//	return_on_full_refund  default false
//	if_gone_after_payment  honour, top_up or refund; default honour
//
// The file is an operator's intent, so nothing in it is guessed: unknown and
// repeated keys, a second document, anchors, aliases and YAML tags are refused,
// and a number is not a text. Every error names the path of the field and its
// line.
package salesfile
