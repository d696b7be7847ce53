-- What is wrong or was, and what somebody is still to be told: so that a restart neither forgets
-- trouble nor tells it twice.
--
-- Trouble is written down together with the messages that tell of it, before any is sent; a
-- message is 'sending' from before its delivery is tried until it is known how that ended.
CREATE TABLE incidents (
    -- Whose trouble, as JSON: what kind, and of which budget.
    subject     TEXT NOT NULL,
    began_at_ms INTEGER NOT NULL,
    -- NULL: it is not over.
    ended_at_ms INTEGER,
    -- NULL: nobody was told.
    told_at_ms  INTEGER,
    -- 1: it is over, and whoever was to be told has been.
    is_settled  INTEGER NOT NULL CHECK (is_settled IN (0, 1)),
    -- All of it, as JSON.
    facts       TEXT NOT NULL,
    PRIMARY KEY (subject, began_at_ms)
) STRICT;

CREATE INDEX incidents_unsettled ON incidents (is_settled) WHERE is_settled = 0;
CREATE INDEX incidents_by_beginning ON incidents (began_at_ms);

-- One trouble at a time of the same.
CREATE UNIQUE INDEX incidents_one_at_a_time ON incidents (subject) WHERE ended_at_ms IS NULL;

CREATE TABLE outbox (
    id              INTEGER PRIMARY KEY,
    -- 128 random bits in hex: what its recipient knows it by, however often it arrives.
    uid             TEXT NOT NULL UNIQUE CHECK (length(uid) = 32),
    kind            TEXT NOT NULL CHECK (kind IN ('mail', 'webhook')),
    -- An address, or a webhook's name.
    recipient       TEXT NOT NULL,
    -- What it is about, like `alerts`.
    topic           TEXT NOT NULL,
    -- The same is owed to nobody twice.
    dedupe          TEXT NOT NULL,
    subject         TEXT NOT NULL,
    body            TEXT NOT NULL,
    -- The same for mail programs that show it; NULL: there is none.
    html            TEXT,
    -- What it was made of, as JSON, so that it can be made anew with more; NULL: it cannot.
    payload         TEXT,
    state           TEXT NOT NULL
        CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'merged')),
    created_at_ms   INTEGER NOT NULL,
    -- Not tried again before this.
    not_before_ms   INTEGER NOT NULL,
    attempts        INTEGER NOT NULL CHECK (attempts >= 0),
    -- Since when whoever would take it cannot be reached; NULL: not tried yet, or it can.
    down_since_ms   INTEGER,
    -- What went wrong last; NULL: nothing.
    error           TEXT,
    -- When it was sent, given up, or made part of a later one; NULL: it is still owed.
    settled_at_ms   INTEGER
) STRICT;

CREATE UNIQUE INDEX outbox_owed_once ON outbox (kind, recipient, dedupe);
CREATE INDEX outbox_by_state ON outbox (state, kind, recipient, id);
CREATE INDEX outbox_by_settlement ON outbox (settled_at_ms);
