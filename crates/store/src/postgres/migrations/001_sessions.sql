-- The running processes of the service. One that has not been seen for a few seconds is dead. A row is removed when
-- its replica says goodbye, so a lease whose replica has no row is free.
CREATE TABLE replicas (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT NOT NULL,
    addr TEXT,
    host TEXT NOT NULL,
    pid BIGINT NOT NULL,
    seen TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- One row per session: what a list shows, derived from the events and written with them, and its lease. Both are in one
-- row so that its lock puts every append and every claim of a session in one order.
CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    last BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    title TEXT,
    opening TEXT,
    root TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    cost DOUBLE PRECISION,
    forked_from TEXT COLLATE "C",
    forked_at BIGINT,
    -- By the database's clock; decides what is old.
    written TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    -- Grows with every claim and never goes back. An append names it.
    epoch BIGINT NOT NULL DEFAULT 0,
    replica TEXT COLLATE "C",
    held_since TIMESTAMPTZ
) WITH (fillfactor = 70);

-- The columns that every append changes are in no index, so that it need not touch one.
CREATE INDEX sessions_of_project ON sessions (project);
CREATE INDEX sessions_held ON sessions (replica) WHERE replica IS NOT NULL;
CREATE INDEX sessions_forked ON sessions (forked_from) WHERE forked_from IS NOT NULL;

-- The logs. The JSON of an event is in `data`, or, if it is long, in `packed` as a raw deflate stream. Ids of sessions
-- begin with the time, so that a partition holds the sessions that began in one month.
CREATE TABLE events (
    session TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    data TEXT,
    packed BYTEA,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (session, sequence)
) PARTITION BY RANGE (session);

CREATE TABLE events_other PARTITION OF events DEFAULT;

-- The words of messages and answers, and where they were said.
CREATE TABLE said (
    session TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (session, sequence)
);

CREATE INDEX said_words ON said USING GIN (words);

-- Rows that were not what had been written, and positions that are lost: never thrown away.
CREATE TABLE damaged (
    session TEXT COLLATE "C" NOT NULL,
    sequence BIGINT,
    through BIGINT,
    moved BIGINT NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT,
    kind TEXT,
    data TEXT,
    packed BYTEA,
    checksum BIGINT
);

CREATE INDEX damaged_of_session ON damaged (session);

-- What sessions taught, per session, and up to which entry that was looked at.
CREATE TABLE learned (
    session TEXT COLLATE "C" NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    directory TEXT COLLATE "C" NOT NULL,
    uses BIGINT NOT NULL,
    helped BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (session, topic, tool, directory)
);

CREATE TABLE learned_through (
    session TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE settings (
    project TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (project, name)
);

-- What was asked of a session by whatever replica, until the one that holds it has taken it. Rows stay, so that a
-- request that is made again gets the same answer.
CREATE TABLE inbox (
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT COLLATE "C" NOT NULL,
    item TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    state TEXT COLLATE "C" NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'done', 'refused', 'withdrawn')),
    through BIGINT,
    reason TEXT,
    PRIMARY KEY (session, number),
    UNIQUE (session, key)
);

CREATE INDEX inbox_waiting ON inbox (session, number) WHERE state = 'waiting';

-- What all replicas show about a session beside its log.
CREATE TABLE standing (
    session TEXT COLLATE "C" PRIMARY KEY,
    epoch BIGINT NOT NULL,
    value TEXT NOT NULL
) WITH (fillfactor = 70);
