-- What the flood guard must not forget: strikes, disablements, pauses and who put what right, and
-- whom to tell of a site's lists. Events are not here: minutes are counted in memory and in a file.

-- Sites that a platform has told of. Events of others are counted as well, and nobody is told.
CREATE TABLE sites (
    site          TEXT PRIMARY KEY,
    title         TEXT NOT NULL,
    -- Where people find it; empty: nowhere.
    url           TEXT NOT NULL,
    -- Addresses of mail, a list as JSON.
    admins        TEXT NOT NULL,
    -- Whose midnight ends its days, a name of the IANA database.
    time_zone     TEXT NOT NULL,
    -- Empty: none.
    region        TEXT NOT NULL,
    changed_at_ms INTEGER NOT NULL
) STRICT;

-- What happened to lists, in order: the order in which the guard is told again at a start.
CREATE TABLE flood_history (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms          INTEGER NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('strike', 'enable', 'pause', 'resume')),
    site           TEXT NOT NULL,
    -- Empty: the whole site.
    list           TEXT NOT NULL,
    -- NULL: pauses concern all of them.
    component      TEXT,
    -- Of strikes: days since 1970-01-01 of the site's date, when that day ends, the strike's number
    -- within it, the minute that reached the threshold, its count, and whether it disabled.
    day            INTEGER,
    day_ends_at_ms INTEGER,
    number         INTEGER,
    minute_at_ms   INTEGER,
    count          INTEGER,
    disables       INTEGER,
    -- Of pauses: when they end by themselves.
    until_at_ms    INTEGER,
    -- Of what people did: who, and why.
    actor          TEXT,
    reason         TEXT
) STRICT;

-- A strike is written once, whatever is tried again. What enables restarts a minute, so that a
-- day's number alone tells strikes apart.
CREATE UNIQUE INDEX flood_strikes_once ON flood_history (site, list, component, day, number)
    WHERE kind = 'strike';
CREATE INDEX flood_history_by_list ON flood_history (site, list, seq);
CREATE INDEX flood_history_by_time ON flood_history (at_ms);

-- Components that are disabled now.
CREATE TABLE flood_disabled (
    site        TEXT NOT NULL,
    list        TEXT NOT NULL,
    component   TEXT NOT NULL,
    since_at_ms INTEGER NOT NULL,
    strike      INTEGER NOT NULL,
    PRIMARY KEY (site, list, component)
) STRICT;

-- Pauses that may still matter: in force, or ended lately.
CREATE TABLE flood_pauses (
    site        TEXT NOT NULL,
    list        TEXT NOT NULL,
    since_at_ms INTEGER NOT NULL,
    until_at_ms INTEGER NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (site, list, since_at_ms)
) STRICT;
