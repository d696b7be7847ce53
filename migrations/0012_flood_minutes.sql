-- How many events lists had, so that a changed flood policy can be tried on what was. Counted in
-- memory and written in batches: an event costs no write. Instants are the engine's.

-- Minutes with ten events or more.
CREATE TABLE flood_minutes (
    component    TEXT NOT NULL,
    site         TEXT NOT NULL,
    list         TEXT NOT NULL,
    minute_at_ms INTEGER NOT NULL,
    -- Days since 1970-01-01 of the site's date.
    day          INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    PRIMARY KEY (component, site, list, minute_at_ms)
) STRICT;
CREATE INDEX flood_minutes_by_time ON flood_minutes (minute_at_ms);
-- The quietest make room.
CREATE INDEX flood_minutes_by_count ON flood_minutes (count, minute_at_ms);

-- The busiest minute of each day, also of lists that never had ten.
CREATE TABLE flood_peaks (
    component    TEXT NOT NULL,
    site         TEXT NOT NULL,
    list         TEXT NOT NULL,
    day          INTEGER NOT NULL,
    minute_at_ms INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    PRIMARY KEY (component, site, list, day)
) STRICT;
CREATE INDEX flood_peaks_by_time ON flood_peaks (minute_at_ms);
-- The quietest make room.
CREATE INDEX flood_peaks_by_count ON flood_peaks (count, minute_at_ms);

-- What there was no room for, as who reads the rest must know.
CREATE TABLE flood_left_out (
    component TEXT NOT NULL,
    -- What was left out: 'minutes' or 'peaks'.
    what      TEXT NOT NULL CHECK (what IN ('minutes', 'peaks')),
    -- When last, and the highest count among them since there was room for all for 30 days.
    at_ms     INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    PRIMARY KEY (component, what)
) STRICT;
