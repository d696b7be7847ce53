-- The limits in force, and all that ever were.
--
-- Presets and the configuration only seed the first version; from then on the database
-- rules, so that an upgrade or an edited file never changes limits behind an operator's
-- back. Versions are appended and never changed: a permit, a journal or an audit entry
-- that names a version means the same for ever, and a rollback is a new version.
CREATE TABLE policies (
    upstream      TEXT NOT NULL,
    workload      TEXT NOT NULL,
    version       INTEGER NOT NULL CHECK (version >= 1),
    -- The engine's policy as JSON.
    document      TEXT NOT NULL,
    reason        TEXT NOT NULL,
    author        TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (upstream, workload, version)
) STRICT;

CREATE TRIGGER policies_are_never_changed BEFORE UPDATE ON policies
BEGIN
    SELECT RAISE(ABORT, 'policies are append-only');
END;

CREATE TRIGGER policies_are_never_deleted BEFORE DELETE ON policies
BEGIN
    SELECT RAISE(ABORT, 'policies are append-only');
END;
