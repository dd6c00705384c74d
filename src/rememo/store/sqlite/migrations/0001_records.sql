-- Records in versions. Small columns first: lists and scans never touch the pages of long texts.
-- ANY stands for contents: text as it is, or bytes that are compressed or sealed (see store/contents.py).
CREATE TABLE records (
  number        INTEGER PRIMARY KEY,  -- private to this file: ties words and vectors to a version
  tenant        TEXT NOT NULL,
  id            TEXT NOT NULL,
  version       INTEGER NOT NULL,
  kind          TEXT NOT NULL,
  agent         TEXT,
  user          TEXT,
  room          TEXT,
  at            INTEGER NOT NULL,     -- occurred_at, else created_at: what lists are ordered by
  arrival       INTEGER NOT NULL,     -- the number of its first version: what ties are ordered by
  created_at    INTEGER NOT NULL,
  recorded_at   INTEGER NOT NULL,
  superseded_at INTEGER,              -- null: the current version
  occurred_at   INTEGER,
  valid_from    INTEGER,
  valid_to      INTEGER,
  expires_at    INTEGER,
  deleted       INTEGER NOT NULL DEFAULT 0,
  pinned        INTEGER NOT NULL DEFAULT 0,
  importance    REAL,
  source        ANY,
  trust         REAL NOT NULL DEFAULT 1.0,
  quarantine    ANY,                  -- why it is held back; null: free
  speaker       ANY,
  length        INTEGER NOT NULL,     -- how many terms its text has
  asks          INTEGER NOT NULL,     -- whether its text asks something
  fingerprint   INTEGER NOT NULL,     -- equal for texts that say the same
  hash          BLOB NOT NULL,        -- of kind, text and data, exactly as they stand here
  data          ANY NOT NULL,
  metadata      ANY NOT NULL,
  text          ANY NOT NULL
) STRICT;

CREATE UNIQUE INDEX records_by_id ON records (tenant, id, version);
CREATE INDEX records_by_kind ON records (tenant, kind, superseded_at, at, arrival);
CREATE INDEX records_by_room ON records (tenant, room, kind, superseded_at, at, arrival) WHERE room IS NOT NULL;
CREATE INDEX records_by_user ON records (tenant, user, kind, superseded_at, at, arrival) WHERE user IS NOT NULL;
CREATE INDEX records_by_agent ON records (tenant, agent, kind, superseded_at, at, arrival) WHERE agent IS NOT NULL;
CREATE INDEX records_by_end ON records (tenant, superseded_at) WHERE superseded_at IS NOT NULL;
CREATE INDEX records_in_quarantine ON records (tenant, at, arrival) WHERE quarantine IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX records_by_expiry ON records (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- What the newest rows of `records` do not tell of a tenant. The clock is the system time of its last write that opened
-- no version; the epoch changes when rows are removed or loaded, which no clock shows; rows up to `loaded` may stand out
-- of the order of their system times.
CREATE TABLE tenants (
  tenant TEXT PRIMARY KEY,
  clock  INTEGER NOT NULL DEFAULT 0,
  epoch  INTEGER NOT NULL DEFAULT 0,
  loaded INTEGER NOT NULL DEFAULT 0,
  floor  INTEGER NOT NULL DEFAULT 0,  -- the highest version of a key that is gone: no new one starts below
  audited    INTEGER NOT NULL DEFAULT 0,  -- how many lines the audit trail has
  audit_hash BLOB                         -- and the hash of the last: a trail that was cut does not end there
) STRICT, WITHOUT ROWID;

-- Embedding models of this file; one is current, another may be under construction beside it.
CREATE TABLE models (
  model     INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  dimension INTEGER NOT NULL,
  current   INTEGER NOT NULL DEFAULT 0,
  done      INTEGER NOT NULL DEFAULT 0  -- under construction: versions up to this number have their vector
) STRICT;

-- The place is the model's number times 2^40 plus the version's: one range a model, and no row spills to a second page.
CREATE TABLE vectors (
  place  INTEGER PRIMARY KEY,
  vector BLOB NOT NULL                -- float32, unit length
) STRICT;

-- Keys of tenants, wrapped by a master key that is not here; the tenant '' is the file itself. No rows: nothing is sealed.
CREATE TABLE vault (
  tenant  TEXT NOT NULL,
  serial  INTEGER NOT NULL,           -- the highest of a tenant seals what is new
  master  TEXT NOT NULL,              -- which master key wraps it
  wrapped BLOB NOT NULL,              -- empty: dropped, and nothing it sealed can ever be read
  PRIMARY KEY (tenant, serial)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
  tenant TEXT NOT NULL,
  name   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- What the first batch under an idempotency key did.
CREATE TABLE keys (
  tenant   TEXT NOT NULL,
  scope    TEXT NOT NULL,
  key      ANY NOT NULL,
  "commit" TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (tenant, scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (at);

-- The audit trail, a chain of hashes in each tenant (see store/chain.py).
CREATE TABLE audit (
  tenant    TEXT NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  operation TEXT NOT NULL,
  detail    TEXT NOT NULL,
  actor     TEXT,
  session   TEXT,
  address   TEXT,
  agent     TEXT,
  user      TEXT,
  room      TEXT,
  ids       TEXT NOT NULL,
  flags     TEXT NOT NULL,
  salt      BLOB NOT NULL,
  gone      TEXT,                     -- what an erasure took out, as digests
  hash      BLOB NOT NULL,
  PRIMARY KEY (tenant, number)
) STRICT, WITHOUT ROWID;

-- Erasures under way: what is to go (nothing once only bytes are left to clean), and the records that went already.
CREATE TABLE erasures (
  number   INTEGER PRIMARY KEY,
  tenant   TEXT NOT NULL,
  target   TEXT,
  counts   TEXT NOT NULL,
  begun_at INTEGER NOT NULL
) STRICT;

CREATE TABLE erased (
  erasure INTEGER NOT NULL,
  id      TEXT NOT NULL,
  note    ANY NOT NULL,               -- what must be worked out anew without it
  PRIMARY KEY (erasure, id)
) STRICT, WITHOUT ROWID;

-- Copies of the file that were made.
CREATE TABLE backups (
  path TEXT NOT NULL,
  at   INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
  tenant       TEXT NOT NULL,
  id           TEXT NOT NULL,
  task         TEXT NOT NULL,
  payload      TEXT NOT NULL,
  state        TEXT NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  due_at       INTEGER NOT NULL,
  leased_until INTEGER,
  error        ANY,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_open ON jobs (due_at) WHERE state IN ('waiting', 'running');
CREATE INDEX jobs_by_state ON jobs (tenant, state);

CREATE TABLE kv (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,           -- the scope's namespace inside the tenant
  key        ANY NOT NULL,
  value      ANY NOT NULL,
  version    INTEGER NOT NULL,
  expires_at INTEGER,
  sliding    INTEGER,                 -- microseconds that each read adds, for a sliding expiry
  PRIMARY KEY (tenant, space, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX kv_by_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL;

-- Words of current versions, and of past ones: today's answers never wade through yesterday's.
-- A row holds the terms of a text and one term for each of its scope labels (see words.py).
-- Tenants are spread over buckets by hash, so that one tenant's words do not slow another's.
-- Rows wait in `staged` and move on many at a time: a commit with an FTS5 row of its own costs twice as much.
CREATE TABLE staged (
  number INTEGER PRIMARY KEY,
  place  TEXT NOT NULL,               -- the table it is meant for
  terms  TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE words_00 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_01 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_02 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_03 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_04 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_05 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_06 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_07 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_08 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_09 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_10 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_11 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_12 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_13 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_14 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE words_15 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_00 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_01 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_02 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_03 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_04 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_05 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_06 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_07 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_08 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_09 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_10 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_11 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_12 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_13 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_14 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE past_15 USING fts5 (terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");

-- Entries of removed rows leave with the next merge that new rows bring: merging for their sake happens within a write, and
-- was measured to hold others up for 90 ms.
INSERT INTO words_00 (words_00, rank) VALUES ('deletemerge', 0);
INSERT INTO words_01 (words_01, rank) VALUES ('deletemerge', 0);
INSERT INTO words_02 (words_02, rank) VALUES ('deletemerge', 0);
INSERT INTO words_03 (words_03, rank) VALUES ('deletemerge', 0);
INSERT INTO words_04 (words_04, rank) VALUES ('deletemerge', 0);
INSERT INTO words_05 (words_05, rank) VALUES ('deletemerge', 0);
INSERT INTO words_06 (words_06, rank) VALUES ('deletemerge', 0);
INSERT INTO words_07 (words_07, rank) VALUES ('deletemerge', 0);
INSERT INTO words_08 (words_08, rank) VALUES ('deletemerge', 0);
INSERT INTO words_09 (words_09, rank) VALUES ('deletemerge', 0);
INSERT INTO words_10 (words_10, rank) VALUES ('deletemerge', 0);
INSERT INTO words_11 (words_11, rank) VALUES ('deletemerge', 0);
INSERT INTO words_12 (words_12, rank) VALUES ('deletemerge', 0);
INSERT INTO words_13 (words_13, rank) VALUES ('deletemerge', 0);
INSERT INTO words_14 (words_14, rank) VALUES ('deletemerge', 0);
INSERT INTO words_15 (words_15, rank) VALUES ('deletemerge', 0);
INSERT INTO past_00 (past_00, rank) VALUES ('deletemerge', 0);
INSERT INTO past_01 (past_01, rank) VALUES ('deletemerge', 0);
INSERT INTO past_02 (past_02, rank) VALUES ('deletemerge', 0);
INSERT INTO past_03 (past_03, rank) VALUES ('deletemerge', 0);
INSERT INTO past_04 (past_04, rank) VALUES ('deletemerge', 0);
INSERT INTO past_05 (past_05, rank) VALUES ('deletemerge', 0);
INSERT INTO past_06 (past_06, rank) VALUES ('deletemerge', 0);
INSERT INTO past_07 (past_07, rank) VALUES ('deletemerge', 0);
INSERT INTO past_08 (past_08, rank) VALUES ('deletemerge', 0);
INSERT INTO past_09 (past_09, rank) VALUES ('deletemerge', 0);
INSERT INTO past_10 (past_10, rank) VALUES ('deletemerge', 0);
INSERT INTO past_11 (past_11, rank) VALUES ('deletemerge', 0);
INSERT INTO past_12 (past_12, rank) VALUES ('deletemerge', 0);
INSERT INTO past_13 (past_13, rank) VALUES ('deletemerge', 0);
INSERT INTO past_14 (past_14, rank) VALUES ('deletemerge', 0);
INSERT INTO past_15 (past_15, rank) VALUES ('deletemerge', 0);
