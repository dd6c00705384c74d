-- Records in versions, as in every store of Rememo. Whatever grows is spread over 16 partitions by the tenant's hash, and
-- every key leads with the tenant: a tenant can be moved, and a cluster can be cut, between any two of them.
-- Times are microseconds since 1970. Text that is compared is compared byte by byte, as Python and SQLite do.

-- One row a tenant, locked by each of its writes: so its numbers and its clock rise in the order of its commits.
-- The epoch changes when rows are removed or loaded, which no clock shows; versions up to `loaded` may stand out of the
-- order of their system times.
CREATE TABLE tenants (
  tenant text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL DEFAULT 0,     -- of the tenant's newest version
  clock  bigint NOT NULL DEFAULT 0,     -- the system time of its last write
  ended  bigint NOT NULL DEFAULT 0,     -- the system time of its last write that closed a version
  epoch  bigint NOT NULL DEFAULT 0,
  loaded bigint NOT NULL DEFAULT 0,
  sealed_by integer NOT NULL DEFAULT 0  -- the serial of the key that seals what is new; 0: none, -1: it was dropped
) WITH (fillfactor = 50);

CREATE TABLE records (
  tenant        text COLLATE "C" NOT NULL,
  number        bigint NOT NULL,        -- private to this store: ties words and vectors to a version
  version       integer NOT NULL,
  at            bigint NOT NULL,        -- occurred_at, else created_at: what lists are ordered by
  arrival       bigint NOT NULL,        -- the number of its first version: what ties are ordered by
  created_at    bigint NOT NULL,
  recorded_at   bigint NOT NULL,
  superseded_at bigint,                 -- null: the current version
  occurred_at   bigint,
  valid_from    bigint,
  valid_to      bigint,
  expires_at    bigint,
  fingerprint   bigint NOT NULL,        -- equal for texts that say the same
  importance    double precision,
  trust         double precision NOT NULL DEFAULT 1.0,
  length        integer NOT NULL,       -- how many terms its text has
  deleted       boolean NOT NULL DEFAULT false,
  pinned        boolean NOT NULL DEFAULT false,
  asks          boolean NOT NULL,       -- whether its text asks something
  id            text COLLATE "C" NOT NULL,
  kind          text COLLATE "C" NOT NULL,
  agent         text COLLATE "C",
  "user"        text COLLATE "C",
  room          text COLLATE "C",
  source        text,
  quarantine    text,                   -- why it is held back; null: free
  speaker       text,
  hash          bytea NOT NULL,         -- of kind, text and data, exactly as they stand here
  data          text NOT NULL,          -- JSON as it was written: jsonb would change it
  metadata      text NOT NULL,
  text          text NOT NULL,
  packed        bytea,                  -- the text where it is compressed or sealed; `text` is empty then
  PRIMARY KEY (tenant, id, version)
) PARTITION BY HASH (tenant);

CREATE UNIQUE INDEX records_by_number ON records (tenant, number);
CREATE INDEX records_by_kind ON records (tenant, kind, at, arrival) WHERE superseded_at IS NULL;
CREATE INDEX records_by_room ON records (tenant, room, kind, at, arrival) WHERE superseded_at IS NULL AND room IS NOT NULL;
CREATE INDEX records_by_user ON records (tenant, "user", kind, at, arrival) WHERE superseded_at IS NULL AND "user" IS NOT NULL;
CREATE INDEX records_by_agent ON records (tenant, agent, kind, at, arrival) WHERE superseded_at IS NULL AND agent IS NOT NULL;
CREATE INDEX records_by_end ON records (tenant, superseded_at) WHERE superseded_at IS NOT NULL;
CREATE INDEX records_in_quarantine ON records (tenant, at, arrival) WHERE quarantine IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX records_by_expiry ON records (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- The terms of a text, with one term for the tenant and each label of its scope (see words.py). Current versions and past
-- ones have indexes of their own: today's answers never wade through yesterday's.
CREATE TABLE words (
  tenant  text COLLATE "C" NOT NULL,
  number  bigint NOT NULL,
  current boolean NOT NULL,
  terms   text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, number)
) PARTITION BY HASH (tenant);

-- Entries go into the index at once: a list of pending ones would have to be read by each search.
CREATE INDEX words_current ON words USING gin (terms) WITH (fastupdate = off) WHERE current;
CREATE INDEX words_past ON words USING gin (terms) WITH (fastupdate = off) WHERE NOT current;

-- Embedding models of this store; one is current, another may be under construction beside it.
CREATE TABLE models (
  model     integer PRIMARY KEY,
  name      text NOT NULL UNIQUE,
  dimension integer NOT NULL,
  current   boolean NOT NULL DEFAULT false
);

-- How far a model under construction has come: a tenant's versions up to this number have been embedded.
CREATE TABLE progress (
  tenant text COLLATE "C" NOT NULL,
  model  integer NOT NULL,
  done   bigint NOT NULL,
  PRIMARY KEY (tenant, model)
);

CREATE TABLE vectors (
  tenant text COLLATE "C" NOT NULL,
  model  integer NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (tenant, model, number)
) PARTITION BY HASH (tenant);

-- Unit length. Without pgvector the same bytes are kept as they are; where contents are sealed, so are vectors.
DO $$
DECLARE
  pgvector regtype := (SELECT oid::regtype FROM pg_type WHERE typname = 'vector' LIMIT 1);
BEGIN
  EXECUTE format('ALTER TABLE vectors ADD COLUMN vector %s', coalesce(pgvector, 'bytea'::regtype));
  ALTER TABLE vectors ADD COLUMN sealed bytea, ADD CHECK (num_nonnulls(vector, sealed) = 1);
  -- They do not get smaller by packing, nor does what is packed already.
  ALTER TABLE vectors ALTER COLUMN vector SET STORAGE EXTERNAL, ALTER COLUMN sealed SET STORAGE EXTERNAL;
  ALTER TABLE records ALTER COLUMN packed SET STORAGE EXTERNAL;
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE records_%s PARTITION OF records FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(part::text, 2, '0'), part);
    EXECUTE format('CREATE TABLE words_%s PARTITION OF words FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(part::text, 2, '0'), part);
    EXECUTE format('CREATE TABLE vectors_%s PARTITION OF vectors FOR VALUES WITH (MODULUS 16, REMAINDER %s)', lpad(part::text, 2, '0'), part);
  END LOOP;
END
$$;

-- Keys of tenants, wrapped by a master key that is not here; the tenant '' is the store itself. No rows: nothing is sealed.
CREATE TABLE vault (
  tenant  text COLLATE "C" NOT NULL,
  serial  integer NOT NULL,             -- the highest of a tenant seals what is new
  master  text COLLATE "C" NOT NULL,    -- which master key wraps it
  wrapped bytea NOT NULL,               -- empty: dropped, and nothing it sealed can ever be read
  PRIMARY KEY (tenant, serial)
);

-- Erasures under way: what is to go (nothing once only dead rows are left to clean), and the records that went already.
CREATE TABLE erasures (
  tenant   text COLLATE "C" NOT NULL,
  number   integer NOT NULL,
  target   text,
  counts   text NOT NULL,
  begun_at bigint NOT NULL,
  PRIMARY KEY (tenant, number)
);

CREATE TABLE erased (
  tenant  text COLLATE "C" NOT NULL,
  erasure integer NOT NULL,
  id      text COLLATE "C" NOT NULL,
  note    text NOT NULL,                -- what must be worked out anew without it
  PRIMARY KEY (tenant, erasure, id)
);

CREATE TABLE snapshots (
  tenant text COLLATE "C" NOT NULL,
  name   text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- What the first batch under an idempotency key did.
CREATE TABLE keys (
  tenant text COLLATE "C" NOT NULL,
  scope  text COLLATE "C" NOT NULL,
  key    text COLLATE "C" NOT NULL,
  commit text NOT NULL,
  at     bigint NOT NULL,
  PRIMARY KEY (tenant, scope, key)
);
CREATE INDEX keys_by_age ON keys (at);  -- for sweeping, which goes through all tenants

CREATE TABLE jobs (
  tenant       text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  task         text COLLATE "C" NOT NULL,
  payload      text NOT NULL,
  state        text COLLATE "C" NOT NULL,
  attempts     integer NOT NULL DEFAULT 0,
  due_at       bigint NOT NULL,
  leased_until bigint,
  error        text,
  created_at   bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX jobs_open ON jobs (due_at, id) WHERE state IN ('waiting', 'running');  -- a worker works for all tenants
CREATE INDEX jobs_by_state ON jobs (tenant, state, id);

CREATE TABLE kv (
  tenant     text COLLATE "C" NOT NULL,
  space      text COLLATE "C" NOT NULL,  -- the scope's namespace inside the tenant
  key        text COLLATE "C" NOT NULL,
  value      text NOT NULL,
  version    bigint NOT NULL,
  expires_at bigint,
  sliding    bigint,                     -- microseconds that each read adds, for a sliding expiry
  PRIMARY KEY (tenant, space, key)
);
CREATE INDEX kv_by_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL;  -- for sweeping

-- The highest version of a key that is gone: no new one starts below.
CREATE TABLE floors (
  tenant text COLLATE "C" PRIMARY KEY,
  floor  bigint NOT NULL DEFAULT 0
);

-- The audit trail, a chain of hashes in each tenant (see store/chain.py), and the head that is kept of it: a trail that was
-- cut does not end there. The head's row is taken last by every transaction, so that none waits for another in a ring.
CREATE TABLE audit (
  tenant    text COLLATE "C" NOT NULL,
  number    bigint NOT NULL,
  at        bigint NOT NULL,
  operation text COLLATE "C" NOT NULL,
  detail    text NOT NULL,
  actor     text COLLATE "C",
  session   text COLLATE "C",
  address   text COLLATE "C",
  agent     text COLLATE "C",
  "user"    text COLLATE "C",
  room      text COLLATE "C",
  ids       text NOT NULL,
  flags     text NOT NULL,
  salt      bytea NOT NULL,
  gone      text,                       -- what an erasure took out, as digests
  hash      bytea NOT NULL,
  PRIMARY KEY (tenant, number)
);

CREATE TABLE trails (
  tenant  text COLLATE "C" PRIMARY KEY,
  audited bigint NOT NULL DEFAULT 0,
  hash    bytea
) WITH (fillfactor = 50);
