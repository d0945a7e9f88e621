-- Server processes of Postgres that a worker has compared with the other stores. A
-- server that was restored from an older copy starts anew, so its start is not among
-- them, and nobody works with it until it was compared.
CREATE TABLE server_checks (
    started_at timestamptz PRIMARY KEY,                     -- pg_postmaster_start_time()
    state      text        NOT NULL CHECK (state IN ('behind', 'current')),
    checked_at timestamptz NOT NULL DEFAULT now()
);
