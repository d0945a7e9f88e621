-- What cannot become an order and never will: a reservation that the database
-- refuses for what it is, or a hand-over that cannot be read. A reservation that
-- has a dead letter is decided: it is rejected, whether or not orders could take
-- a row of it.
CREATE TABLE dead_letters (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sale_id    text COLLATE "C" NOT NULL,
    epoch      bigint      NOT NULL CHECK (epoch >= 0),    -- of the hand-over; 0 when its header names none
    sequence   bigint      NOT NULL CHECK (sequence >= 0), -- of the hand-over in the stream
    rid        uuid,                                       -- NULL for a hand-over
    header     bytea       NOT NULL DEFAULT '',            -- of a hand-over, as NATS writes it
    payload    bytea       NOT NULL,                       -- the reservation as JSON, or the hand-over's body as it came
    reason     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    state      text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'retried', 'dropped'))
);

-- Redelivery does not double them. A stream that was made anew counts from 1
-- again, so the sequence alone does not tell hand-overs apart.
CREATE UNIQUE INDEX dead_letters_reservation ON dead_letters (rid) WHERE rid IS NOT NULL;
CREATE UNIQUE INDEX dead_letters_hand_over ON dead_letters (sale_id, sequence, sha256(payload)) WHERE rid IS NULL;
