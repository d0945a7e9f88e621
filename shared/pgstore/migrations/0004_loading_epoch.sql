-- The last epoch that a load has begun with. sales.epoch may be above it: then a rebuild
-- was requested, and the first load to come takes that epoch. No two loads have one
-- epoch, so that the last sequence noted for it and the fence in Redis are one load's.
ALTER TABLE sales ADD COLUMN loading_epoch bigint NOT NULL DEFAULT 0;
UPDATE sales SET loading_epoch = epoch;
