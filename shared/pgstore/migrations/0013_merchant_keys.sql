-- API keys of merchants. The secret half of a key is 256 random bits: its SHA-256 tells
-- nobody what it was.
CREATE TABLE merchant_keys (
    key_id     text COLLATE "C" PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{16}$'),
    hash       bytea            NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    merchant   text             NOT NULL CHECK (merchant ~ '^[a-z0-9-]{1,64}$'),
    scopes     text[]           NOT NULL CHECK (cardinality(scopes) > 0),
    created_at timestamptz      NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

CREATE INDEX merchant_keys_live ON merchant_keys (key_id) WHERE revoked_at IS NULL;
