-- How long a worker took, in seconds.
ALTER TABLE labels ADD COLUMN duration DOUBLE PRECISION;
