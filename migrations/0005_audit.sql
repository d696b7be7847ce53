-- Who did what, when, from where and why: what changes anything, and sign-ins that failed.
--
-- Rows are appended and never changed, and each is chained to the one before it, so that a row
-- that somebody with the file changed, moved or took out of the middle is found
-- (`spillway audit verify`). The last rows can be cut off unseen: their numbers and hashes are
-- in the log, too, and whoever keeps a head elsewhere can have it looked for.
CREATE TABLE audit (
    -- From 1 upwards, without gaps.
    seq        INTEGER PRIMARY KEY CHECK (seq >= 1),
    at_ms      INTEGER NOT NULL,
    actor_kind TEXT NOT NULL CHECK (actor_kind IN (
        'account', 'token', 'command_line', 'system', 'site_admin', 'anyone'
    )),
    -- What tells the actor from all others of its kind; empty where nothing does.
    actor_id   TEXT NOT NULL,
    -- What people called it then.
    actor_name TEXT NOT NULL,
    -- What was done, dotted, like `token.create`: it stays the same.
    action     TEXT NOT NULL CHECK (length(action) BETWEEN 1 AND 64),
    -- To what, like `token:0123456789abcdef`.
    subject    TEXT NOT NULL,
    -- How it was and how it is since, as JSON; NULL: there was, or is, nothing.
    was        TEXT,
    became     TEXT,
    -- In the actor's words; NULL: none were asked for.
    reason     TEXT,
    -- The address that it was asked from; NULL: not by network, or not known.
    client     TEXT,
    -- SHA-256 of this row and the hash before it (server/src/audit/entry.rs says of what bytes).
    hash       BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- Filters: newest first under each.
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_subject ON audit (subject, seq);
CREATE INDEX audit_by_actor_id ON audit (actor_id, seq);
CREATE INDEX audit_by_actor_name ON audit (actor_name, seq);

-- Also against INSERT OR REPLACE, which deletes without a word to the trigger below.
CREATE TRIGGER audit_rows_follow_each_other BEFORE INSERT ON audit
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM audit)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_rows_are_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

CREATE TRIGGER audit_rows_are_never_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
