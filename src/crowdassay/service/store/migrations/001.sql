-- {serial}, {blob} and {hash} are filled in for the database at hand.
CREATE TABLE labels (
    seq {serial},
    key_short {blob} NOT NULL UNIQUE,
    key TEXT NOT NULL,
    item TEXT NOT NULL,
    worker TEXT NOT NULL,
    round BIGINT NOT NULL,
    label TEXT NOT NULL,
    time TEXT,
    added TEXT NOT NULL,
    source TEXT NOT NULL
);
CREATE INDEX labels_item ON labels {hash} (item);
CREATE TABLE items (
    seq {serial},
    item_hash {blob} NOT NULL UNIQUE,
    item TEXT NOT NULL,
    text TEXT,
    link TEXT,
    added TEXT NOT NULL
);
CREATE TABLE truths (
    seq {serial},
    item_hash {blob} NOT NULL UNIQUE,
    item TEXT NOT NULL,
    label TEXT NOT NULL,
    added TEXT NOT NULL,
    source TEXT NOT NULL
);
CREATE TABLE decisions (
    seq {serial},
    item TEXT NOT NULL,
    label TEXT NOT NULL,
    added TEXT NOT NULL,
    source TEXT NOT NULL,
    undone TEXT
);
CREATE INDEX decisions_item ON decisions {hash} (item);
CREATE TABLE fits (
    seq {serial},
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT,
    upto BIGINT NOT NULL,
    message TEXT
);
CREATE TABLE fit_parts (
    fit BIGINT NOT NULL,
    name TEXT NOT NULL,
    data {blob} NOT NULL,
    PRIMARY KEY (fit, name)
);
CREATE TABLE tokens (
    seq {serial},
    token_hash {blob} NOT NULL UNIQUE,
    role TEXT NOT NULL,
    worker TEXT,
    note TEXT NOT NULL,
    added TEXT NOT NULL,
    revoked TEXT
);
CREATE TABLE audit (
    seq {serial},
    added TEXT NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);
