-- Orders whose time to pay runs out, the next one first. Only pending ones: an
-- order leaves the index with its state.
CREATE INDEX orders_due ON orders (sale_id, expires_at) WHERE state = 'pending';
