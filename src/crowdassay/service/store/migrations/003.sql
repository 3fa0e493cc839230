-- Tokens have the name of a person and may end by themselves. Pages have sessions, which end with their token.
ALTER TABLE tokens RENAME COLUMN note TO name;
ALTER TABLE tokens ADD COLUMN expires TEXT;
CREATE TABLE sessions (
    seq {serial},
    session_hash {blob} NOT NULL UNIQUE,
    token BIGINT,
    added TEXT NOT NULL,
    expires TEXT NOT NULL
);
