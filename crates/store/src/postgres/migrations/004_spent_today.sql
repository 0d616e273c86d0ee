-- What a session has spent on the last day on which it spent anything, written with the events that say so: budgets are
-- read before each request to a model, and must not take longer the longer the logs are. Days are counted from 1970, UTC,
-- by the database's clock. The day changes seldom, so that it can have an index.
ALTER TABLE sessions ADD COLUMN spent_day BIGINT, ADD COLUMN spent_usd DOUBLE PRECISION NOT NULL DEFAULT 0;
CREATE INDEX sessions_spent ON sessions (spent_day) WHERE spent_day IS NOT NULL;

-- The present day, as far as it was counted.
UPDATE sessions SET spent_usd = paid.usd, spent_day = paid.day
FROM (SELECT session, sum(cost) AS usd, today.number AS day
    FROM counted, (SELECT floor(extract(epoch FROM now()) / 86400)::bigint AS number) AS today
    WHERE cost IS NOT NULL AND at >= today.number * 86400000
    AND sequence > coalesce((SELECT max(fork.tokens) FROM counted AS fork
        WHERE fork.session = counted.session AND fork.what = 'forked'), 0)
    GROUP BY session, today.number) AS paid
WHERE id = paid.session;
