-- Grows with every change after which a user may see or do something else. A transaction that makes such a change
-- updates it first, so that they happen one after the other: the last admin cannot be removed by two at once.
CREATE TABLE people_version (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    version BIGINT NOT NULL
);

INSERT INTO people_version (version) VALUES (0);

CREATE TABLE users (
    id TEXT COLLATE "C" PRIMARY KEY,
    number BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    name TEXT NOT NULL,
    email TEXT,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'member', 'approver', 'admin')),
    is_disabled BOOLEAN NOT NULL DEFAULT FALSE,
    -- Who the identity provider says it is.
    issuer TEXT COLLATE "C",
    subject TEXT COLLATE "C",
    added TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (issuer, subject),
    CHECK ((issuer IS NULL) = (subject IS NULL))
);

-- Browsers that are logged in, and tokens: only hashes of what clients show.
CREATE TABLE browsers (
    hash BYTEA PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    expires TIMESTAMPTZ NOT NULL
);

CREATE INDEX browsers_of_user ON browsers (user_id);

CREATE TABLE tokens (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    made TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    expires TIMESTAMPTZ NOT NULL,
    used TIMESTAMPTZ
);

CREATE INDEX tokens_of_user ON tokens (user_id);

-- Links that make a user, once. That for the first admin was made by no user.
CREATE TABLE invitations (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    note TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'member', 'approver', 'admin')),
    projects TEXT[] NOT NULL,
    made_by TEXT COLLATE "C" REFERENCES users (id),
    expires TIMESTAMPTZ NOT NULL
);

-- Logins at the identity provider that have begun. A row is taken by the browser that began it, once.
CREATE TABLE login_attempts (
    state BYTEA PRIMARY KEY,
    browser BYTEA NOT NULL,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    invitation BYTEA,
    expires TIMESTAMPTZ NOT NULL
);

CREATE INDEX login_attempts_ended ON login_attempts (expires);

CREATE TABLE shares (
    project TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    PRIMARY KEY (user_id, project)
);

CREATE TABLE session_owners (
    session TEXT COLLATE "C" PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    visibility TEXT NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'project'))
);

-- An empty name means all users, or all projects.
CREATE TABLE budgets (
    user_id TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    usd_per_day DOUBLE PRECISION NOT NULL CHECK (usd_per_day >= 0),
    PRIMARY KEY (user_id, project)
);

-- Keys of providers, sealed with a master key that is not in the database.
CREATE TABLE provider_keys (
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    provider TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    kept TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, provider)
);

-- What was done by whom, written in the transaction that did it. Users stay, so that every row has its name.
CREATE TABLE audit (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    user_id TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C",
    session TEXT COLLATE "C",
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE INDEX audit_by_time ON audit (at);
