-- Allow lists of a loaded sale may change. allow_rev tells one list from another, in Redis
-- too: it is the time of the change in milliseconds, so that a list that a restored copy has
-- forgotten never shares its number with a later one. 0 is the list of before this migration.
ALTER TABLE sales ADD COLUMN allow_rev bigint NOT NULL DEFAULT 0;

-- Half a million rows are written at a time, and a check of each would take longer than
-- all the rest. Lists are written for sales whose row the same transaction has read.
ALTER TABLE sale_allow DROP CONSTRAINT sale_allow_sale_id_fkey;
