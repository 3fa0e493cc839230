-- Annotations of Label Studio that were delivered: the version of the last delivery, and when the annotation was deleted there.
-- Deliveries come late, twice and in any order.
CREATE TABLE annotations (
    seq {serial},
    key_short {blob} NOT NULL UNIQUE,
    key TEXT NOT NULL,
    task TEXT NOT NULL,
    version TEXT NOT NULL,
    deleted TEXT
);
CREATE INDEX annotations_task ON annotations {hash} (task);
