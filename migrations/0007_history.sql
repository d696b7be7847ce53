-- What was: how full limits were, what became of calls, how breakers stood, for charts. Points of
-- 10 s are kept for an hour, of a minute for a day, of an hour for 30 days: at most 2,520 of a
-- workload, of 4 KiB at most. They name no user, so there are as many whoever calls.
CREATE TABLE history (
    upstream TEXT NOT NULL,
    workload TEXT NOT NULL,
    -- How long the point lasts.
    step_ms  INTEGER NOT NULL CHECK (step_ms IN (10000, 60000, 3600000)),
    -- When it begins.
    at_ms    INTEGER NOT NULL CHECK (at_ms % step_ms = 0),
    -- What was seen, as JSON (server/src/history/point.rs).
    point    TEXT NOT NULL CHECK (length(point) BETWEEN 2 AND 4096),
    PRIMARY KEY (upstream, workload, step_ms, at_ms)
) STRICT;

-- What is too old is forgotten each ten seconds, of all workloads at once, those that are no more
-- included.
CREATE INDEX history_by_age ON history (step_ms, at_ms);
