-- Pages of the audit are found by moment and number. Clients are told milliseconds, so that rows have no more than those.
UPDATE audit SET at = date_trunc('milliseconds', at);
ALTER TABLE audit ALTER COLUMN at SET DEFAULT date_trunc('milliseconds', clock_timestamp());
DROP INDEX audit_by_time;
CREATE INDEX audit_by_time ON audit (at, number);
