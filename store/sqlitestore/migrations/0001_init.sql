-- One row a thread: its place in the log (last_seq, the compare of every
-- append), its summary, and columns for the queries that need an index.
CREATE TABLE threads (
  id       INTEGER PRIMARY KEY,
  name     TEXT    NOT NULL,
  last_seq INTEGER NOT NULL,
  flags    INTEGER NOT NULL, -- 1: an id was replaced or dropped; 2: order keys do not ascend with seq
  waiting  INTEGER,          -- 1: has open gates
  live     INTEGER,          -- 1: runnable, or its lease is held
  due      INTEGER,          -- Unix milliseconds
  graph    TEXT,
  top      BLOB,             -- the highest order key of its checkpoints
  summary  BLOB    NOT NULL  -- ThreadInfo.MarshalBinary
);
CREATE UNIQUE INDEX threads_name ON threads (name);
CREATE INDEX threads_waiting ON threads (name) WHERE waiting IS NOT NULL;
CREATE INDEX threads_live ON threads (name) WHERE live IS NOT NULL;
CREATE INDEX threads_due ON threads (due, name) WHERE due IS NOT NULL;
CREATE INDEX threads_graph ON threads (graph, name) WHERE graph IS NOT NULL;

-- The log. id ascends in commit order and is never used again: it is the
-- cursor of a watch. What scans of headers read stands before the body.
CREATE TABLE entries (
  id         INTEGER PRIMARY KEY,
  thread     INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  prev       BLOB,           -- NULL for the zero hash
  hash       BLOB    NOT NULL,
  sig        BLOB,           -- NULL if unsigned
  header     BLOB    NOT NULL,
  gone       BLOB,           -- bitmap of records whose body was removed
  pack       INTEGER,        -- where compaction put the body: packs.id * 256 + index
  body       BLOB            -- the records' bodies, joined
);
CREATE UNIQUE INDEX entries_seq ON entries (thread, seq);

-- The newest place of every checkpoint and gate id. A UUID is a blob of 16
-- bytes, gate-UUID one of 17, anything else text.
CREATE TABLE ids (
  id    BLOB    NOT NULL PRIMARY KEY,
  kind  INTEGER NOT NULL, -- 0: a checkpoint whose id is its order key
  entry INTEGER NOT NULL
) WITHOUT ROWID;

-- Checkpoints whose order key is not their id.
CREATE TABLE orders (
  ord   BLOB    NOT NULL,
  entry INTEGER NOT NULL,
  PRIMARY KEY (ord, entry)
) WITHOUT ROWID;

-- Checkpoints whose coordination is not their thread.
CREATE TABLE coordinations (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE members (
  coordination INTEGER NOT NULL,
  ord          BLOB    NOT NULL,
  entry        INTEGER NOT NULL,
  PRIMARY KEY (coordination, ord, entry)
) WITHOUT ROWID;

-- Overwriteable values beside the log. A deleted slot keeps its revision.
CREATE TABLE slots (
  thread   TEXT    NOT NULL,
  step     TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  fence    INTEGER NOT NULL,
  value    BLOB,
  PRIMARY KEY (thread, step)
) WITHOUT ROWID;

-- Compressed bodies of several entries.
CREATE TABLE packs (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  data BLOB NOT NULL
);

-- The highest id an entry had, kept where the newest entries were removed.
CREATE TABLE marks (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
