-- A sale that is over leaves the stores in three steps, each with its mark:
-- retired (no more orders), cleared (its keys, consumer and messages are gone),
-- forgotten (its catalogue entry too). What is forgotten stays as rows alone, and
-- no loop reads it.
ALTER TABLE sales
    ADD COLUMN retired_at   timestamptz,
    ADD COLUMN cleared_at   timestamptz,
    ADD COLUMN forgotten_at timestamptz,
    ADD CONSTRAINT sales_forgotten_was_cleared CHECK (forgotten_at IS NULL OR (retired AND cleared_at IS NOT NULL));

-- What the loops read, however many sales there were.
CREATE INDEX sales_current ON sales (sale_id) WHERE forgotten_at IS NULL;
