-- Who this database is, and whether it has ever let a call through.
--
-- Counters live in the journal and the snapshot beside the database. If those are lost,
-- a database that has served must assume that every budget is spent, while a fresh one
-- may start empty: the difference must survive the files, so it is kept here.
CREATE TABLE instance (
    -- There is exactly one.
    only         INTEGER PRIMARY KEY CHECK (only = 1),
    -- 128 random bits in hex: a journal of another database is recognised and refused.
    id           TEXT NOT NULL CHECK (length(id) = 32),
    -- When the first call was let through; NULL until then.
    served_at_ms INTEGER
) STRICT;
