-- Accounts that an admin makes, or lends a hand: a link by which their owner chooses a password,
-- so that nobody else ever knows it; and accounts that let nobody in for a while.
ALTER TABLE accounts ADD COLUMN disabled_at_ms INTEGER;

-- A link that was handed out. What stands in it is not here, only the SHA-256 of it. An account
-- has one at most; it goes when it is used, and is worth nothing once its time is over.
CREATE TABLE invitations (
    account    TEXT PRIMARY KEY REFERENCES accounts (id),
    key_sha256 BLOB NOT NULL UNIQUE CHECK (length(key_sha256) = 32),
    until_ms   INTEGER NOT NULL
) STRICT;
