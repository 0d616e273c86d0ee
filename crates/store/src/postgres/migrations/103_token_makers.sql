-- Which token a token was made with, or a browser came with: when that one is revoked, so are they.
ALTER TABLE tokens ADD COLUMN made_with BIGINT REFERENCES tokens (id) ON DELETE CASCADE;
ALTER TABLE browsers ADD COLUMN made_with BIGINT REFERENCES tokens (id) ON DELETE CASCADE;

CREATE INDEX tokens_made_with ON tokens (made_with) WHERE made_with IS NOT NULL;
CREATE INDEX browsers_made_with ON browsers (made_with) WHERE made_with IS NOT NULL;
