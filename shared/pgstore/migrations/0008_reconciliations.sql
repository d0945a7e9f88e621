-- What the reconciliations found: a run, a row for each sale in it, and what is left
-- of them once they are a day old.
CREATE TABLE reconciliation_runs (
    run         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz                                -- NULL while it goes on, and when it was broken off
);

CREATE TABLE reconciliations (
    run                bigint      NOT NULL REFERENCES reconciliation_runs ON DELETE CASCADE,
    sale_id            text COLLATE "C" NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now(),
    epoch              bigint      NOT NULL,
    in_redis           boolean     NOT NULL,
    at_rest            boolean     NOT NULL,
    total              bigint      NOT NULL,
    held               bigint      NOT NULL,
    holding            bigint      NOT NULL,               -- orders that hold a unit
    stock              bigint      NOT NULL,               -- in Redis, as are the next five
    sold_out           boolean     NOT NULL,
    accepted           bigint      NOT NULL,
    served             bigint      NOT NULL,
    handoff            bigint      NOT NULL,
    handoff_age        bigint      NOT NULL,               -- seconds
    unapplied          bigint      NOT NULL,               -- releases
    unshown            bigint      NOT NULL,               -- orders
    dead_letters       bigint      NOT NULL,
    surplus            bigint      NOT NULL,
    findings           jsonb       NOT NULL,
    deviations         bigint      NOT NULL CHECK (deviations >= 0),
    fresh_deviations   bigint      NOT NULL CHECK (fresh_deviations >= 0), -- that the run before, of the same day, had not
    PRIMARY KEY (run, sale_id)
);

CREATE INDEX reconciliations_of_sale ON reconciliations (sale_id, run);

CREATE TABLE reconciliation_days (
    day        date   PRIMARY KEY, -- UTC
    runs       bigint NOT NULL,
    deviations bigint NOT NULL,    -- each counted once
    repaired   bigint NOT NULL
);
