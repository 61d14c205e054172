-- The minute of the last entry, in Unix milliseconds: threads by activity. It changes
-- once a minute, so that a step does not write the index.
ALTER TABLE threads ADD COLUMN minute INTEGER NOT NULL DEFAULT 0;
CREATE INDEX threads_minute ON threads (minute, name);
