-- Writes of orders wait while the index is built, and behind this migration while it waits for
-- its lock: after 3 s of that it fails, and nothing is applied.
SET LOCAL lock_timeout = '3s';

-- Orders to be shown, oldest first, by an index that alone has this order. By id the
-- primary key has it too. No statistics say how few of a sale's orders are to be shown, so
-- that Postgres takes nearly all of them for it and, once the rows of several sales lie
-- mixed, walks the primary key: over the whole table, for every sale, every second.
--
-- orders_unshown stays, nearly always empty, for workers of before this migration.
CREATE INDEX orders_unshown_oldest ON orders (sale_id, created_at) WHERE shown_state <> state AND state IN ('pending', 'paid');

SET LOCAL lock_timeout = DEFAULT;
