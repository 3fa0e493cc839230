-- What became of labels after others may have read them: replaced, removed, or erased with their worker, who is not named then.
-- The number of a label that was removed is kept here, so that it is not given again.
CREATE TABLE corrections (
    seq {serial},
    label BIGINT NOT NULL,
    item TEXT NOT NULL,
    worker TEXT,
    kind TEXT NOT NULL
);
CREATE INDEX corrections_label ON corrections (label);
