-- What statistics count and audits show, derived from the logs: one narrow row for an entry that is counted. Rows are
-- written when a question is asked, by whichever replica is asked first; they can be removed at any time and are then
-- made anew.
CREATE TABLE counted (
    session TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    word TEXT COLLATE "C",
    duration_ms BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    cost DOUBLE PRECISION,
    PRIMARY KEY (session, sequence)
);

CREATE TABLE decided (
    session TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    by_user TEXT COLLATE "C",
    subject TEXT NOT NULL,
    is_approved BOOLEAN NOT NULL,
    is_remembered BOOLEAN NOT NULL,
    PRIMARY KEY (session, sequence)
);

CREATE INDEX decided_at ON decided (project, at, session, sequence);

-- Through which entry a session was read, by which version of the reader, and where that stands.
CREATE TABLE counted_through (
    session TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL,
    version INTEGER NOT NULL,
    kept TEXT NOT NULL
);
