-- Templates are rules: they may change, be copied and be taken off the shelf. issued is
-- moved by the number of coupons that a transaction makes; the CHECK is what makes it
-- impossible to give out too many.
CREATE TABLE coupon_templates (
    template_id  text COLLATE "C" PRIMARY KEY CHECK (template_id ~ '^[a-z0-9-]{1,64}$'),
    kind         text        NOT NULL CHECK (kind IN ('amount', 'percent', 'free_shipping')),
    value        bigint      NOT NULL CHECK (value >= 0), -- minor units, or the percentage paid
    min_amount   bigint      NOT NULL CHECK (min_amount >= 0),
    total        bigint      NOT NULL,
    issued       bigint      NOT NULL DEFAULT 0,
    terms        jsonb       NOT NULL,                    -- coupon.Terms
    copied_from  text COLLATE "C",
    off_shelf_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    changed_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT coupon_templates_never_over_issued CHECK (0 <= issued AND issued <= total AND total <= 100000000)
);

-- A template is given out by one sale at most, for as long as there is a row of it.
ALTER TABLE sales
    ADD COLUMN template_id text COLLATE "C" REFERENCES coupon_templates,
    ADD CONSTRAINT sales_coupons_have_a_template CHECK ((kind = 'coupon') = (template_id IS NOT NULL));
CREATE UNIQUE INDEX sales_template ON sales (template_id) WHERE template_id IS NOT NULL;

-- Instances are facts: what was claimed, by whom, under which terms. id is the rid of the
-- claim, and the id of its order. Neither the sale nor the template is a foreign key: the
-- transaction that inserts holds both rows.
CREATE TABLE coupons (
    id           uuid        PRIMARY KEY,
    template_id  text COLLATE "C" NOT NULL,
    sale_id      text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    slot         smallint    NOT NULL,
    snapshot     jsonb       NOT NULL,               -- coupon.Snapshot, as of the claim
    ends_at      timestamptz NOT NULL,               -- of the snapshot, for the index; infinity for never
    state        text        NOT NULL DEFAULT 'issued' CHECK (state IN ('issued', 'locked', 'redeemed', 'expired', 'void')),
    cycle        bigint      NOT NULL DEFAULT 1 CHECK (cycle >= 1),
    order_id     text COLLATE "C",                   -- that has locked or redeemed it
    locked_until timestamptz,
    issued_at    timestamptz NOT NULL DEFAULT now(),
    changed_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT coupons_one_a_slot UNIQUE (template_id, user_id, slot),
    CONSTRAINT coupons_owned_by_an_order CHECK ((state IN ('locked', 'redeemed')) = (order_id IS NOT NULL)),
    CONSTRAINT coupons_locked_has_deadline CHECK ((state = 'locked') = (locked_until IS NOT NULL))
);

CREATE INDEX coupons_of_user ON coupons (user_id, id);
CREATE INDEX coupons_changed ON coupons (template_id, changed_at);
CREATE INDEX coupons_lock_due ON coupons (locked_until) WHERE state = 'locked';
CREATE INDEX coupons_end_due ON coupons (ends_at) WHERE state = 'issued' AND ends_at < 'infinity';

-- What happened to instances, each written by the transaction that did it. The claim is
-- the instance's own row: issued_at.
CREATE TABLE coupon_events (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    coupon_id uuid        NOT NULL,
    cycle     bigint      NOT NULL, -- that it ended in
    event     text        NOT NULL CHECK (event IN ('lock', 'release', 'lapse', 'redeem', 'late_redeem', 'expire', 'void', 'return')),
    order_id  text COLLATE "C" NOT NULL DEFAULT '',
    at        timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX coupon_events_of_coupon ON coupon_events (coupon_id, id);
-- A coupon is redeemed once and returned once in a cycle.
CREATE UNIQUE INDEX coupon_events_redeemed_once ON coupon_events (coupon_id, cycle) WHERE event IN ('redeem', 'late_redeem');
CREATE UNIQUE INDEX coupon_events_returned_once ON coupon_events (coupon_id, cycle) WHERE event = 'return';

-- Orders of order systems that have locked coupons.
CREATE TABLE checkouts (
    user_id      text COLLATE "C" NOT NULL CHECK (char_length(user_id) BETWEEN 1 AND 128),
    order_id     text COLLATE "C" NOT NULL CHECK (char_length(order_id) BETWEEN 1 AND 64),
    merchant     text        NOT NULL,               -- whose key locked; '' for the buyer
    state        text        NOT NULL CHECK (state IN ('locked', 'released', 'redeemed', 'refused')),
    asked        bytea       NOT NULL CHECK (octet_length(asked) = 32), -- SHA-256 of what the lock asked for
    coupon_ids   uuid[]      NOT NULL,
    cart         jsonb       NOT NULL,               -- lines and shipping as priced
    quote        jsonb       NOT NULL,               -- pricing.Quote, as answered
    shares       jsonb       NOT NULL,               -- its Shares, in their order
    locked_until timestamptz NOT NULL,
    result       jsonb,                              -- checkout.Redeemed, as answered first
    refunded     jsonb       NOT NULL DEFAULT '{}',  -- what was refunded so far
    created_at   timestamptz NOT NULL DEFAULT now(),
    changed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, order_id),
    CONSTRAINT checkouts_decided_has_result CHECK ((state IN ('redeemed', 'refused')) = (result IS NOT NULL))
);

CREATE TABLE checkout_refunds (
    user_id    text COLLATE "C" NOT NULL,
    order_id   text COLLATE "C" NOT NULL,
    refund_id  text COLLATE "C" NOT NULL CHECK (char_length(refund_id) BETWEEN 1 AND 64),
    asked      bytea       NOT NULL CHECK (octet_length(asked) = 32),
    answer     jsonb       NOT NULL,                 -- checkout.Refunded
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, order_id, refund_id),
    FOREIGN KEY (user_id, order_id) REFERENCES checkouts
);

-- Who bears which part of a discount: redeem and honour write what a party bears, refund
-- takes it back with the other sign. An order's rows sum to its discounts, those of an
-- order that was refunded in full to zero.
CREATE TABLE coupon_ledger (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    coupon_id uuid        NOT NULL,
    cycle     bigint      NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    order_id  text COLLATE "C" NOT NULL,
    part      text        NOT NULL CHECK (part IN ('line', 'parcel')),
    part_id   text COLLATE "C" NOT NULL,             -- id of the line, merchant of the parcel
    party     text COLLATE "C" NOT NULL,
    amount    bigint      NOT NULL CHECK (amount <> 0), -- minor units; positive for a discount given
    currency  text        NOT NULL,
    event     text        NOT NULL CHECK (event IN ('redeem', 'honour', 'refund')),
    refund_id text COLLATE "C" NOT NULL DEFAULT '',
    at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT coupon_ledger_once UNIQUE (coupon_id, cycle, user_id, order_id, part, part_id, party, event, refund_id),
    CONSTRAINT coupon_ledger_sign CHECK ((amount > 0) = (event <> 'refund')),
    CONSTRAINT coupon_ledger_refund CHECK ((event = 'refund') = (refund_id <> ''))
);

CREATE INDEX coupon_ledger_of_order ON coupon_ledger (user_id, order_id);
CREATE INDEX coupon_ledger_of_day ON coupon_ledger (at);
