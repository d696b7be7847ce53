-- When the audit log was last found to be as it was written, and up to where.
--
-- It is beside the log, not in it: looking must not change what is looked at. Whoever has the
-- file can change this row, too; against them a head is kept elsewhere.
CREATE TABLE audit_checks (
    -- There is at most one: the last that found nothing wrong.
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    at_ms INTEGER NOT NULL,
    -- Up to this entry, with this hash.
    seq   INTEGER NOT NULL CHECK (seq >= 0),
    hash  BLOB NOT NULL CHECK (length(hash) = 32),
    -- By whom, in words.
    who   TEXT NOT NULL
) STRICT;
