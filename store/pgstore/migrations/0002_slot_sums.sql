-- The checksum of a slot. Those that are there have none until they are written again.
ALTER TABLE posthouse.slots ADD COLUMN sum bytea;
