package layout

// The columns of an entry, without its body and with it. The body is the last column of
// the table, so a statement that leaves it out does not read its overflow pages.
const (
	HeadColumns = `e.id, e.seq, e.cid, e.head`
	BodyColumns = HeadColumns + `, e.gone, e.pack, e.body`
)

// The statements, prepared when first used.
const (
	SelectThread = `SELECT ` + SummaryColumns + ` FROM threads t JOIN tails a ON a.id = t.id
		WHERE t.name = ?1`
	qBehind = `SELECT ` + HeadColumns + ` FROM entries e WHERE e.thread = ?1 AND e.seq > ?2 ORDER BY e.seq`

	qPlaceCID = `SELECT e.id, e.seq, t.id, t.name FROM entries e INDEXED BY entries_cid JOIN threads t ON t.id = e.thread
		WHERE e.cid = ?1`
	qPlaceID = `SELECT e.id, e.seq, t.id, t.name FROM ids i JOIN entries e ON e.id = i.entry JOIN threads t ON t.id = e.thread
		WHERE i.id = ?1`
	qEntry = `SELECT ` + HeadColumns + `, t.name FROM entries e JOIN threads t ON t.id = e.thread
		WHERE e.id = ?1`

	qThreadByID = `SELECT ` + SummaryColumns + ` FROM threads t JOIN tails a ON a.id = t.id
		WHERE t.id = ?1`
	SelectThreadName = `SELECT name FROM threads WHERE id = ?1`

	qLastEntry = `SELECT max(ifnull((SELECT max(id) FROM entries), 0),
		ifnull((SELECT revision FROM slots WHERE thread = '' AND step = 'entries'), 0))`
	qLastPack = `SELECT max(ifnull((SELECT max(id) FROM packs), 0),
		ifnull((SELECT revision FROM slots WHERE thread = '' AND step = 'packs'), 0))`
	qNextThread = `SELECT id FROM threads WHERE id > ?1 ORDER BY id LIMIT 1`
	qSetNumber  = `INSERT INTO slots (thread, step, revision, fence) VALUES ('', ?1, ?2, 0)
		ON CONFLICT (thread, step) DO UPDATE SET revision = ?2`
	qHasNumber = `SELECT 1 FROM slots WHERE thread = '' AND step = ?1 AND revision <> 0`
)
