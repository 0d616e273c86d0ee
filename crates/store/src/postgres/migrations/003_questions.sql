-- Questions about calls by hand, which are in no log, with the answers that users of other replicas have left. They go
-- with the replica that asks.
CREATE TABLE questions (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    replica TEXT COLLATE "C" NOT NULL REFERENCES replicas (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    answer TEXT,
    state TEXT COLLATE "C" NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'answered', 'taken', 'done', 'refused')),
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX questions_of_replica ON questions (replica);
