-- Rules that were taken back and count at no replica, wherever they are kept. Making one again removes its row.
CREATE TABLE revoked_rules (
    project TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (project, rule)
);
