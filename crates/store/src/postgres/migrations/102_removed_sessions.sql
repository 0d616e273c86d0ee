-- What sessions had spent on the day of their deletion: budgets of that day count it on. Answers to their questions stay
-- as rows of the audit.
CREATE TABLE removed_spending (
    session TEXT COLLATE "C" PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C",
    at TIMESTAMPTZ NOT NULL,
    usd DOUBLE PRECISION NOT NULL
);

CREATE INDEX removed_spending_at ON removed_spending (at);
CREATE INDEX audit_of_session ON audit (session) WHERE session IS NOT NULL;
