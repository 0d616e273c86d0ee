-- The tables stay as they are. From here on `data` of a long event is its JSON as a raw deflate stream, which a
-- program that knows only the first version could not read.
SELECT 1;
