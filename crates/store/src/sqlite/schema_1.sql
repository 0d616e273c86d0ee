-- One row per session: what a list shows. Derived from the events and written with them.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    last INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    title TEXT,
    opening TEXT,
    root TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost REAL,
    forked_from TEXT,
    forked_at INTEGER
) WITHOUT ROWID;

-- The logs. Each row says all about itself, so that it can be saved when nothing around it can.
CREATE TABLE events (
    session TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (session, sequence)
);

-- Rows that were not what had been written, and positions that are lost: never thrown away.
CREATE TABLE damaged (
    session TEXT NOT NULL,
    sequence INTEGER,
    through INTEGER,
    moved INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER,
    kind TEXT,
    data BLOB,
    checksum INTEGER
);

CREATE TABLE repairs (
    at INTEGER NOT NULL,
    note TEXT NOT NULL
);

-- Who may write to a session.
CREATE TABLE leases (
    session TEXT NOT NULL PRIMARY KEY,
    owner INTEGER NOT NULL,
    number INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start INTEGER,
    at INTEGER NOT NULL
) WITHOUT ROWID;

-- What sessions taught, per session, and up to which entry that was looked at.
CREATE TABLE learned (
    session TEXT NOT NULL,
    topic TEXT NOT NULL,
    tool TEXT NOT NULL,
    directory TEXT NOT NULL,
    uses INTEGER NOT NULL,
    helped INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (session, topic, tool, directory)
) WITHOUT ROWID;

CREATE TABLE learned_through (
    session TEXT NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
