-- The tokens of programs: who may call the gateway and the API, and for whom.
--
-- A secret is shown once, when its token is made; only its SHA-256 is kept. That is enough
-- for 256 random bits, which nobody can guess: a slow hash protects what people choose.
-- What a token may do never changes, and a row never goes, so that a log line, a permit or
-- an audit entry that names a token means the same for ever.
CREATE TABLE tokens (
    -- 64 random bits in hex: names the token in lists and logs, and is no secret.
    id              TEXT PRIMARY KEY CHECK (length(id) = 16),
    name            TEXT NOT NULL CHECK (length(name) >= 1),
    secret_sha256   BLOB NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
    -- Role, scopes, bindings and lane as JSON.
    rights          TEXT NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    -- NULL: never.
    expires_at_ms   INTEGER,
    -- NULL: never yet. Written at most once a minute.
    last_used_at_ms INTEGER,
    -- NULL: still valid.
    revoked_at_ms   INTEGER
) STRICT;

-- A name can be given again once its token is revoked.
CREATE UNIQUE INDEX tokens_name_while_valid ON tokens (name) WHERE revoked_at_ms IS NULL;

CREATE TRIGGER tokens_keep_what_they_may
BEFORE UPDATE OF id, name, secret_sha256, rights, created_at_ms, expires_at_ms ON tokens
BEGIN
    SELECT RAISE(ABORT, 'what a token may do never changes');
END;

CREATE TRIGGER tokens_stay_revoked BEFORE UPDATE OF revoked_at_ms ON tokens
WHEN OLD.revoked_at_ms IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a revocation is final');
END;

CREATE TRIGGER tokens_are_never_deleted BEFORE DELETE ON tokens
BEGIN
    SELECT RAISE(ABORT, 'tokens are revoked, not deleted');
END;
