-- The accounts of people, and the sessions in which they are signed in.
--
-- A row of `accounts` never goes and its id is never given again, so that an audit entry, a
-- log line or a policy's author means the same for ever; a name can be given again once its
-- account is removed. That there ever was an account is what ends the set-up by a link.
CREATE TABLE accounts (
    -- 64 random bits in hex.
    id            TEXT PRIMARY KEY CHECK (length(id) = 16),
    name          TEXT NOT NULL CHECK (length(name) >= 1),
    role          TEXT NOT NULL CHECK (role IN ('member', 'viewer', 'operator', 'admin')),
    -- Argon2id in PHC form; NULL: no password lets anybody in.
    password_hash TEXT,
    -- Issuer and subject at an identity provider; NULL: none.
    oidc_subject  TEXT UNIQUE,
    created_at_ms INTEGER NOT NULL,
    -- NULL: it is still there.
    removed_at_ms INTEGER
) STRICT;

-- Two people must not be taken for each other for the size of a letter.
CREATE UNIQUE INDEX accounts_name_while_there ON accounts (lower(name)) WHERE removed_at_ms IS NULL;

CREATE TRIGGER accounts_keep_their_id BEFORE UPDATE OF id, created_at_ms ON accounts
BEGIN
    SELECT RAISE(ABORT, 'an account stays who it is');
END;

CREATE TRIGGER accounts_stay_removed BEFORE UPDATE ON accounts
WHEN OLD.removed_at_ms IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a removal is final');
END;

CREATE TRIGGER accounts_are_never_deleted BEFORE DELETE ON accounts
BEGIN
    SELECT RAISE(ABORT, 'accounts are removed, not deleted');
END;

-- A browser that is signed in. What its cookie holds is not here, only the SHA-256 of it, so
-- that nobody who reads the database can take a session over. Rows go when a session ends.
CREATE TABLE sessions (
    id_sha256       BLOB PRIMARY KEY CHECK (length(id_sha256) = 32),
    -- 64 random bits in hex: names the session in lists, and is no secret.
    handle          TEXT NOT NULL UNIQUE CHECK (length(handle) = 16),
    account         TEXT NOT NULL REFERENCES accounts (id),
    -- What is kept for it, as JSON: whose it is, and what the next page is to say.
    data            TEXT NOT NULL,
    signed_in_at_ms INTEGER NOT NULL,
    -- Written at most once a minute.
    seen_at_ms      INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_of_account ON sessions (account, seen_at_ms);

-- Grows with whatever changes who is let in, so that a running server sees by one number
-- that another process has added, changed or removed somebody.
CREATE TABLE people_changes (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    n    INTEGER NOT NULL
) STRICT;

INSERT INTO people_changes (only, n) VALUES (1, 0);

CREATE TRIGGER people_change_with_accounts AFTER INSERT ON accounts
BEGIN
    UPDATE people_changes SET n = n + 1;
END;

CREATE TRIGGER people_change_with_an_account AFTER UPDATE ON accounts
BEGIN
    UPDATE people_changes SET n = n + 1;
END;

CREATE TRIGGER people_change_with_sessions AFTER INSERT ON sessions
BEGIN
    UPDATE people_changes SET n = n + 1;
END;

CREATE TRIGGER people_change_without_sessions AFTER DELETE ON sessions
BEGIN
    UPDATE people_changes SET n = n + 1;
END;
