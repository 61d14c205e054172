-- From this version on heads and summaries carry checksums (head.go, summary.go).
-- Those that are there keep their form, which is read as it was. The number
-- keeps versions out that know no checksums.
SELECT 1;
