-- What operators change while a sale is loaded. What its sales file says stays in the
-- columns that it was written to, so that the same file still applies.

-- The moment at which an operator closed the sale, before its window was over.
ALTER TABLE sales ADD COLUMN closed_at timestamptz;

-- Units added to a sale, or unsold ones taken away. Those in state counted or applied are
-- in sale_stock.total. An increase is counted when its row is written, and then brought to
-- Redis; a decrease is intended, then taken out of Redis or refused there, and only then
-- taken out of the total.
CREATE TABLE stock_adjustments (
    id          text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9._:-]{1,64}$'),
    sale_id     text COLLATE "C" NOT NULL REFERENCES sales,
    delta       bigint      NOT NULL CHECK (delta <> 0 AND abs(delta) <= 100000000), -- units
    state       text        NOT NULL CHECK (state IN ('intended', 'counted', 'applied', 'refused')),
    unsold      bigint      NOT NULL DEFAULT 0 CHECK (unsold >= 0), -- of a refused one: units that could have gone
    who         text        NOT NULL,                               -- as in audit_log
    operator    text        NOT NULL,
    address     text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CONSTRAINT stock_adjustments_increase_counts_at_once CHECK (delta < 0 OR state IN ('counted', 'applied')),
    CONSTRAINT stock_adjustments_decrease_counts_last CHECK (delta > 0 OR state <> 'counted'),
    CONSTRAINT stock_adjustments_finished CHECK ((state IN ('applied', 'refused')) = (finished_at IS NOT NULL))
);

CREATE INDEX stock_adjustments_unfinished ON stock_adjustments (sale_id, created_at) WHERE finished_at IS NULL;
CREATE INDEX stock_adjustments_of_sale ON stock_adjustments (sale_id, id);

-- Every change by an operator, written in the transaction that makes it.
CREATE TABLE audit_log (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    who      text        NOT NULL,                             -- the credential that was shown
    operator text        NOT NULL,                             -- the name that its bearer gave; '' for none
    address  text        NOT NULL,                             -- where the request came from
    action   text        NOT NULL,
    sale_id  text COLLATE "C" NOT NULL,
    subject  text        NOT NULL,                             -- id of an adjustment or a dead letter; '' for the sale
    before   jsonb       NOT NULL,
    after    jsonb       NOT NULL
);

CREATE INDEX audit_log_of_sale ON audit_log (sale_id, id);
CREATE INDEX dead_letters_of_sale ON dead_letters (sale_id, id);
