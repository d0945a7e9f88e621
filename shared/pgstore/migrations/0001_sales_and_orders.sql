-- Identifiers are compared byte by byte (COLLATE "C"): cheaper, and every
-- worker sorts its batch in the same order whatever the database's locale.

-- The catalogue. epoch counts the generations of a sale's Redis state and is
-- handed out here alone; rev rises with every change that must be announced.
CREATE TABLE sales (
    sale_id             text COLLATE "C" PRIMARY KEY CHECK (sale_id ~ '^[a-z0-9-]{1,64}$'),
    kind                text        NOT NULL CHECK (kind IN ('goods', 'coupon')),
    title               text        NOT NULL,
    sku                 text        NOT NULL,
    total               bigint      NOT NULL CHECK (total BETWEEN 0 AND 100000000), -- as configured; sale_stock.total is what counts
    price               bigint      NOT NULL CHECK (price >= 0),                    -- minor units of currency
    currency            text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$' OR (kind = 'coupon' AND currency = '')),
    per_user_limit      smallint    NOT NULL CHECK (per_user_limit BETWEEN 1 AND 20),
    opens_at            timestamptz NOT NULL,
    closes_at           timestamptz NOT NULL,
    hold                interval    NOT NULL CHECK (hold >= interval '0'),          -- time to pay
    mode                text        NOT NULL CHECK (mode IN ('queued', 'instant')),
    rebuy_after_release boolean     NOT NULL,
    weight              integer     NOT NULL CHECK (weight BETWEEN 1 AND 1000),
    min_account_age     interval    NOT NULL CHECK (min_account_age >= interval '0'),
    min_paid_orders     bigint      NOT NULL CHECK (min_paid_orders >= 0),
    tags                text[]      NOT NULL,
    has_allow_list      boolean     NOT NULL,
    epoch               bigint      NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    rev                 bigint      NOT NULL DEFAULT 1 CHECK (rev >= 1),
    paused              boolean     NOT NULL DEFAULT false,
    rebuilding          boolean     NOT NULL DEFAULT false,
    retired             boolean     NOT NULL DEFAULT false,
    created_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (closes_at > opens_at)
);

-- The units of a sale: free = total - held. The CHECK is what makes an
-- oversell impossible. Apart from sales, so that moving units does not touch
-- the row that every order locks FOR SHARE.
CREATE TABLE sale_stock (
    sale_id text COLLATE "C" PRIMARY KEY REFERENCES sales,
    total   bigint NOT NULL,
    held    bigint NOT NULL DEFAULT 0,
    CONSTRAINT sale_stock_never_oversold CHECK (0 <= held AND held <= total)
);

CREATE TABLE sale_allow (
    sale_id text COLLATE "C" NOT NULL REFERENCES sales,
    user_id text COLLATE "C" NOT NULL CHECK (char_length(user_id) BETWEEN 1 AND 128),
    PRIMARY KEY (sale_id, user_id)
);

-- Hand-overs of an older epoch are ordered up to last_seq, superseded beyond.
CREATE TABLE rebuilds (
    sale_id    text COLLATE "C" NOT NULL REFERENCES sales,
    epoch      bigint      NOT NULL CHECK (epoch >= 1),
    last_seq   bigint      NOT NULL CHECK (last_seq >= 0), -- of the sale's subject
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sale_id, epoch)
);

-- One row per reservation that was decided; id is the rid. sale_id is not a
-- foreign key: the transaction that inserts holds the sales row FOR SHARE, and
-- a check per row would lock it once more for each.
CREATE TABLE orders (
    id              uuid        PRIMARY KEY,
    sale_id         text COLLATE "C" NOT NULL,
    user_id         text COLLATE "C" NOT NULL CHECK (char_length(user_id) BETWEEN 1 AND 128),
    slot            smallint    NOT NULL CHECK (slot BETWEEN 1 AND 20),
    idempotency_key text COLLATE "C" NOT NULL CHECK (char_length(idempotency_key) <= 64),
    rank            bigint      NOT NULL CHECK (rank >= 1),
    accepted_at     timestamptz NOT NULL,                      -- Redis time
    amount          bigint      NOT NULL CHECK (amount >= 0),  -- minor units of currency
    currency        text        NOT NULL,
    state           text        NOT NULL CHECK (state IN ('pending', 'paid', 'expired', 'cancelled', 'rejected', 'refunded')),
    shown_state     text        NOT NULL CHECK (shown_state IN ('', 'pending', 'paid', 'expired', 'cancelled', 'rejected', 'refunded')),
    reason          text        NOT NULL DEFAULT '' CHECK (reason IN ('', 'duplicate', 'surplus', 'invalid', 'superseded')),
    holds_unit      boolean     NOT NULL,
    holds_slot      boolean     NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz,                               -- end of the time to pay
    CONSTRAINT orders_open_holds CHECK (state NOT IN ('pending', 'paid') OR (holds_unit AND holds_slot)),
    CONSTRAINT orders_closed_lets_go CHECK (state NOT IN ('expired', 'cancelled') OR NOT holds_unit),
    CONSTRAINT orders_rejected_holds_nothing CHECK (state <> 'rejected' OR NOT (holds_unit OR holds_slot)),
    CONSTRAINT orders_rejected_has_reason CHECK ((state = 'rejected') = (reason <> '')),
    CONSTRAINT orders_pending_has_deadline CHECK (state <> 'pending' OR expires_at IS NOT NULL)
);

-- At most one order holds a slot.
CREATE UNIQUE INDEX orders_slot ON orders (sale_id, user_id, slot) WHERE holds_slot;
-- A buyer's orders; rids are UUIDv7, so id is also the order in time.
CREATE INDEX orders_of_user ON orders (user_id, id);
-- Reading a whole sale: load, rebuild, audit.
CREATE INDEX orders_of_sale ON orders (sale_id, id);
-- Open orders whose tickets must still be settled. Closed ones are shown by
-- their release.
CREATE INDEX orders_unshown ON orders (sale_id, id) WHERE shown_state <> state AND state IN ('pending', 'paid');

-- Tickets to be closed in Redis, each written in the transaction that decided
-- it and repeated until applied_at is set.
CREATE TABLE releases (
    rid        uuid        PRIMARY KEY,
    sale_id    text COLLATE "C" NOT NULL,
    status     text        NOT NULL CHECK (status IN ('expired', 'cancelled', 'rejected', 'refunded')),
    reason     text        NOT NULL CHECK (reason IN ('', 'duplicate', 'surplus', 'invalid', 'superseded', 'not_accepted')),
    give       smallint    NOT NULL CHECK (give IN (0, 1)), -- units that go back to the Redis stock
    holder     uuid,                                        -- of a duplicate: the rid that holds the slot
    created_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz,
    CONSTRAINT releases_rejected_has_reason CHECK ((status = 'rejected') = (reason <> '')),
    CONSTRAINT releases_duplicate_has_holder CHECK ((reason = 'duplicate') = (holder IS NOT NULL)),
    CONSTRAINT releases_gives_only_known_units CHECK (reason NOT IN ('duplicate', 'surplus') OR give = 0)
);

CREATE INDEX releases_unapplied ON releases (sale_id, created_at) WHERE applied_at IS NULL;
CREATE INDEX releases_of_sale ON releases (sale_id, rid);
