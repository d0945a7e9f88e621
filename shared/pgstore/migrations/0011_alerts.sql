-- What a person has to look at, or had to within the last hour. One worker at a time
-- writes it; another goes on from here.
CREATE TABLE alerts (
    fingerprint text COLLATE "C" PRIMARY KEY,              -- of alert, sale_id and dependency
    alert       text             NOT NULL,
    sale_id     text COLLATE "C" NOT NULL DEFAULT '',      -- '' for one that is of no sale
    dependency  text             NOT NULL DEFAULT '',      -- '' for one that is of no store
    state       text             NOT NULL CHECK (state IN ('pending', 'firing', 'resolved')),
    value       double precision NOT NULL,
    summary     text             NOT NULL,
    since       timestamptz      NOT NULL,                 -- its condition began to hold
    fired_at    timestamptz,                               -- while pending, of the time before
    resolved_at timestamptz,                               -- while pending or firing, of the time before
    clear_since timestamptz,                               -- while firing: since when it could be over
    told        text             NOT NULL CHECK (told IN ('', 'firing', 'resolved')), -- what the receiver has acknowledged
    CONSTRAINT alerts_labels UNIQUE (alert, sale_id, dependency),
    CONSTRAINT alerts_fired CHECK (state = 'pending' OR fired_at IS NOT NULL),
    CONSTRAINT alerts_resolved CHECK (state <> 'resolved' OR resolved_at IS NOT NULL)
);

CREATE INDEX dead_letters_open ON dead_letters (id) WHERE state = 'open';
