-- One row a thread, with what queries need an index for.
CREATE TABLE threads (
  id     INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL,
  flags  INTEGER NOT NULL, -- 1: order keys do not ascend with sequence numbers
  active INTEGER,          -- 1: has open gates; 2: can run, or its lease is held; 3: both
  due    INTEGER           -- Unix milliseconds
);
CREATE UNIQUE INDEX threads_name ON threads (name);
CREATE INDEX threads_active ON threads (active, name) WHERE active IS NOT NULL;
CREATE INDEX threads_due ON threads (due, name) WHERE due IS NOT NULL;

-- A thread's summary, and the entry it is of: the last one, or, while the
-- thread is being moved, one a little before it. id is threads.id.
CREATE TABLE tails (
  id    INTEGER PRIMARY KEY,
  seq   INTEGER NOT NULL,
  state BLOB    NOT NULL -- the highest order key (16 bytes), then ThreadInfo.MarshalBinary
);

-- The log. id ascends in commit order and is never used again: it is the
-- cursor of a watch. What scans of headers read stands before the body.
CREATE TABLE entries (
  id     INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  cid    BLOB,             -- the UUID of its checkpoint, if that is its order key and this its newest revision
  head   BLOB    NOT NULL, -- generation, hashes, signature and header
  gone   BLOB,             -- bitmap of records whose body was removed
  pack   INTEGER,          -- where compaction put the body: packs.id * 256 + index
  body   BLOB              -- the records' bodies, joined
);
CREATE UNIQUE INDEX entries_seq ON entries (thread, seq);
CREATE UNIQUE INDEX entries_cid ON entries (cid) WHERE cid IS NOT NULL;

-- The newest place of every other checkpoint id, and of gate ids. A UUID is a
-- blob of 16 bytes, gate-UUID one of 17, anything else text.
CREATE TABLE ids (
  id    BLOB    NOT NULL PRIMARY KEY,
  entry INTEGER NOT NULL
) WITHOUT ROWID;

-- Where order keys lead that no cid says: under coordination 0 those of
-- checkpoints that ids leads to, under the hash of a coordination's name those
-- of its checkpoints in other threads than its own.
CREATE TABLE orders (
  coordination INTEGER NOT NULL,
  ord          BLOB    NOT NULL,
  entry        INTEGER NOT NULL,
  PRIMARY KEY (coordination, ord, entry)
) WITHOUT ROWID;

-- Overwriteable values beside the log. A deleted slot keeps its revision. The
-- slots of thread '' are the store's own numbers, see numbers.go.
CREATE TABLE slots (
  thread   TEXT    NOT NULL,
  step     TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  fence    INTEGER NOT NULL,
  value    BLOB,
  PRIMARY KEY (thread, step)
) WITHOUT ROWID;

-- Compressed bodies of several entries. An id is never used again.
CREATE TABLE packs (
  id   INTEGER PRIMARY KEY,
  data BLOB NOT NULL
);
