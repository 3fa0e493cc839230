-- What others were told of each item last, or are to be told: one row for each item, so that whoever was away is told how items
-- stand and not all that happened to them.
CREATE TABLE notices (
    seq {serial},
    item_hash {blob} NOT NULL UNIQUE,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT,
    probability DOUBLE PRECISION NOT NULL,
    n_labels BIGINT NOT NULL,
    basis TEXT NOT NULL,
    added TEXT NOT NULL,
    event BIGINT NOT NULL UNIQUE,
    event_id TEXT NOT NULL,
    sent TEXT
);
CREATE INDEX notices_waiting ON notices (event) WHERE sent IS NULL;
