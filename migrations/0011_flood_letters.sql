-- Which list and component a letter of the outbox is about: written in the transaction of the
-- disablement that it tells of, and gone with the letter.
CREATE TABLE flood_letters (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    site      TEXT NOT NULL,
    list      TEXT NOT NULL,
    component TEXT NOT NULL
) STRICT;

CREATE INDEX flood_letters_by_list ON flood_letters (site, list, outbox_id);
