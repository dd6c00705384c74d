-- Ids that follow from what a record is have a form of their own, and are keyed where contents are sealed. Tenants of
-- before get theirs one after the other, by whoever opens the store with its keys (see engine/renaming.py).
-- phase: contract
-- taken: at once
ALTER TABLE tenants ADD COLUMN older_ids INTEGER NOT NULL DEFAULT 0;
INSERT INTO tenants (tenant, older_ids) SELECT DISTINCT tenant, 1 FROM records WHERE true
ON CONFLICT (tenant) DO UPDATE SET older_ids = 1;
