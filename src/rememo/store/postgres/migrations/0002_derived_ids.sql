-- Ids that follow from what a record is have a form of their own, and are keyed where contents are sealed. Tenants of
-- before get theirs one after the other, by whoever opens the store with its keys (see engine/renaming.py).
-- phase: contract
-- taken: at once
ALTER TABLE tenants ADD COLUMN older_ids boolean NOT NULL DEFAULT false;
UPDATE tenants SET older_ids = true;
