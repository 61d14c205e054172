-- Where lists by run, graph, node, agent or label look: a row for each of these
-- that a checkpoint in a stretch of a thread's entries has. term is a hash of it
-- (terms.go), so a row may lead to nothing; that costs time, not an answer.
CREATE TABLE terms (
  term    INTEGER NOT NULL,
  thread  INTEGER NOT NULL,
  stretch INTEGER NOT NULL, -- seq / 1024
  PRIMARY KEY (term, thread, stretch)
) WITHOUT ROWID;
