-- What operators say about the pace of all workers: one row.
CREATE TABLE pace (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    paused boolean NOT NULL DEFAULT false -- no worker begins an order transaction
);

INSERT INTO pace DEFAULT VALUES;
