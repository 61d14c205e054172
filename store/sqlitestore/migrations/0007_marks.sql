-- What a list of threads is filtered by: a row for each mark of a thread (package lists), with the
-- minute of the thread's last entry, so that the newest threads of one mark are next to each other.
-- A row that leads to no such thread costs time, not an answer. Summaries carry labels, notes and
-- effects from this version on.
CREATE TABLE marks (
  mark   BLOB    NOT NULL,
  minute INTEGER NOT NULL,
  name   TEXT    NOT NULL,
  thread INTEGER NOT NULL,
  PRIMARY KEY (mark, minute, name)
) WITHOUT ROWID;
