-- Open gates, in each of the lists that queries find them by (gates.go). id is
-- text, so that it sorts by its bytes. A row that leads to no open gate costs
-- time, not an answer.
CREATE TABLE gates (
  list   INTEGER NOT NULL,
  id     TEXT    NOT NULL,
  thread INTEGER NOT NULL,
  PRIMARY KEY (list, id)
) WITHOUT ROWID;
