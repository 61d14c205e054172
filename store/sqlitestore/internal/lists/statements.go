package lists

// The statements, prepared when first used.
const (
	qThread = `SELECT id, flags FROM threads WHERE name = ?1`

	// Walks, see threadLog. An entry without a cid has a negative number, or in a walk of
	// the table a mark before its head.
	qIndexWalk = `SELECT e.head, iif(e.cid IS NULL, -e.seq, e.seq), e.id FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`
	qIndexWalkBack = `SELECT e.head, iif(e.cid IS NULL, -e.seq, e.seq), e.id FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq DESC`
	qTableWalk     = `SELECT iif(e.cid IS NULL, x'ff' || e.head, e.head) FROM entries e WHERE e.id > ?1 ORDER BY e.id`
	qTableWalkBack = `SELECT iif(e.cid IS NULL, x'ff' || e.head, e.head) FROM entries e WHERE e.id < ?1 ORDER BY e.id DESC`

	// Checkpoints across threads, by order key.
	qAll = `SELECT cid AS ord, id AS entry FROM entries INDEXED BY entries_cid WHERE cid >= ?2
		UNION ALL SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord >= ?2 ORDER BY ord, entry`
	qAllBack = `SELECT cid AS ord, id AS entry FROM entries INDEXED BY entries_cid WHERE cid <= ?2
		UNION ALL SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord <= ?2 ORDER BY ord DESC, entry DESC`
	// The same with a third column: whether the entry's segment has an index term.
	qAllTerm = `SELECT cid AS ord, id AS entry, EXISTS (SELECT 1 FROM terms WHERE term = ?3 AND thread = e.thread AND stretch = e.seq / 1024)
		FROM entries e INDEXED BY entries_cid WHERE cid >= ?2
		UNION ALL SELECT ord, entry, 1 FROM orders WHERE coordination = ?1 AND ord >= ?2 ORDER BY ord, entry`
	qAllTermBack = `SELECT cid AS ord, id AS entry, EXISTS (SELECT 1 FROM terms WHERE term = ?3 AND thread = e.thread AND stretch = e.seq / 1024)
		FROM entries e INDEXED BY entries_cid WHERE cid <= ?2
		UNION ALL SELECT ord, entry, 1 FROM orders WHERE coordination = ?1 AND ord <= ?2 ORDER BY ord DESC, entry DESC`
	// The same of one coordination, without the checkpoints of its own thread.
	qMembers     = `SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord >= ?2 ORDER BY ord, entry`
	qMembersBack = `SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord <= ?2 ORDER BY ord DESC, entry DESC`

	qAddIndexTerm   = `INSERT INTO terms (term, thread, stretch) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`
	qDropIndexTerm  = `DELETE FROM terms WHERE term = ?1 AND thread = ?2 AND stretch = ?3`
	qHasIndexTerm   = `SELECT 1 FROM terms WHERE term = ?1 AND thread = ?2 AND stretch = ?3`
	qCountIndexTerm = `SELECT count(*) FROM (SELECT 1 FROM terms WHERE term = ?1 LIMIT ?2)`
	qSegments       = `SELECT m.thread, m.stretch, t.flags, t.name FROM terms m CROSS JOIN threads t ON t.id = m.thread
		WHERE m.term = ?1 ORDER BY m.thread, m.stretch`
	qSegmentFrom = `SELECT stretch FROM terms WHERE term = ?1 AND thread = ?2 AND stretch >= ?3 ORDER BY stretch LIMIT 1`
	qSegmentTo   = `SELECT stretch FROM terms WHERE term = ?1 AND thread = ?2 AND stretch <= ?3 ORDER BY stretch DESC LIMIT 1`
	qAllHeads    = `SELECT e.thread, t.name, e.seq, e.head FROM entries e CROSS JOIN threads t ON t.id = e.thread ORDER BY e.id`
)
