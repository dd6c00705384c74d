-- For sweeping, which goes through all tenants: what has expired and is not closed yet, and jobs that are done. Whatever
-- was swept before is not looked at again.
CREATE INDEX records_expiring ON records (expires_at) WHERE expires_at IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX jobs_done ON jobs (created_at) WHERE state = 'done';
