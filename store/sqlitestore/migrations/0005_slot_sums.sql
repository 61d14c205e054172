-- From this version on slots carry a checksum (slot.go). Those that are there have none
-- until they are written again; the store's own numbers never have one.
ALTER TABLE slots ADD COLUMN sum INTEGER;
