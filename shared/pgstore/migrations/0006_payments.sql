-- The expired order that this one takes the place of: it was paid too late, and
-- there was a unit left.
ALTER TABLE orders ADD COLUMN replaces uuid;
CREATE UNIQUE INDEX orders_replaces ON orders (replaces) WHERE replaces IS NOT NULL;

-- What the payment provider has told, each event once. Rows are written from the
-- stream of payments, which may be replayed.
CREATE TABLE payments (
    event_id    text COLLATE "C" PRIMARY KEY CHECK (char_length(event_id) BETWEEN 1 AND 128),
    type        text        NOT NULL CHECK (type IN ('payment.succeeded', 'payment.failed', 'refund.succeeded')),
    order_id    uuid        NOT NULL,                     -- as the event names it: there may be no such order yet
    amount      bigint      NOT NULL CHECK (amount >= 0), -- minor units of currency
    currency    text        NOT NULL,
    restock     boolean     NOT NULL,
    occurred_at timestamptz NOT NULL,                     -- the provider's clock
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    result      text        NOT NULL DEFAULT '' CHECK (result IN
        ('', 'paid', 'replaced', 'owed', 'noted', 'refunded', 'settled', 'wrong_amount', 'not_paid')),
    applied_at  timestamptz,
    CONSTRAINT payments_applied_has_result CHECK ((applied_at IS NULL) = (result = ''))
);

CREATE INDEX payments_of_order ON payments (order_id);
CREATE INDEX payments_unapplied ON payments (received_at, event_id) WHERE applied_at IS NULL;
-- Expiry passes over orders that have one of these.
CREATE INDEX payments_unapplied_success ON payments (order_id) WHERE applied_at IS NULL AND type = 'payment.succeeded';

-- Payments that are to be refunded: one for each that paid for nothing.
CREATE TABLE refunds_owed (
    event_id   text COLLATE "C" PRIMARY KEY REFERENCES payments,
    order_id   uuid        NOT NULL,
    amount     bigint      NOT NULL CHECK (amount >= 0),
    currency   text        NOT NULL,
    reason     text        NOT NULL CHECK (reason IN
        ('second_payment', 'cancelled', 'rejected', 'refunded', 'retired', 'no_unit', 'no_slot')),
    created_at timestamptz NOT NULL DEFAULT now(),
    settled_at timestamptz
);

CREATE INDEX refunds_owed_of_order ON refunds_owed (order_id);
CREATE INDEX refunds_owed_open ON refunds_owed (created_at, event_id) WHERE settled_at IS NULL;
