package sqlitestore

// The statements of a connection, prepared when first used. Everything a
// caller says is bound, never part of the text.
const (
	qBegin = iota
	qBeginRead
	qCommit
	qRollback

	qThread
	qAddThread
	qSetThread
	qAddTail
	qSetTail
	qBehind
	qFlags
	qAddEntry
	qHead
	qAddID
	qDropID
	qDropCID
	qPlaceCID
	qPlaceID
	qAddOrder
	qDropOrder
	qEntry

	qRead
	qReadBack
	qReadHeaders
	qReadHeadersBack
	qReadOne
	qReadOneHeader

	qThreadID
	qIndexWalk
	qIndexWalkBack
	qTableWalk
	qTableWalkBack

	qAll
	qAllBack
	qMembers
	qMembersBack

	qThreadsByName
	qThreadsByNameDown
	qThreadsActive
	qThreadsActiveDown
	qThreadsDue

	qThreadByID
	qGates
	qGatesDown
	qAddGate
	qDropGate
	qHasGate
	qCountGates
	qCheckGates

	qSlot
	qSlots
	qPutSlot

	qPack
	qAddPack
	qDropPack
	qSetPacked
	qSetBody
	qBlock
	qNextInline
	qNextThread

	qDropEntries
	qDropThread
	qDropTail
	qDropSlots

	qAddIndexTerm
	qDropIndexTerm
	qHasIndexTerm
	qCountIndexTerm
	qSegments
	qSegmentFrom
	qSegmentTo
	qAllHeads

	qWatch
	qLastEntry
	qLastPack

	qThreadName
	qCheckLog
	qHasOrder
	qCheckIDs
	qCheckOrders
	qStrayTails
	qStrayEntries
	qStrayIndexTerms
	qStrayPacks
	qLostPacks
	statements
)

// headColumns is an entry without its body. The body is the last column of the
// table, so a statement that leaves it out reads none of the pages it
// overflows to.
const headColumns = `e.id, e.seq, e.cid, e.head`

var statement = [statements]string{
	qBegin:     `BEGIN IMMEDIATE`,
	qBeginRead: `BEGIN`,
	qCommit:    `COMMIT`,
	qRollback:  `ROLLBACK`,

	qThread: `SELECT ` + summaryColumns + ` FROM threads t JOIN tails a ON a.id = t.id
		WHERE t.name = ?1`,
	qAddThread: `INSERT INTO threads (name, flags, active, due) VALUES (?1, ?2, ?3, ?4)`,
	qSetThread: `UPDATE threads SET flags = ?2, active = ?3, due = ?4 WHERE id = ?1`,
	qAddTail:   `INSERT INTO tails (id, seq, state) VALUES (?1, ?2, ?3)`,
	qSetTail:   `UPDATE tails SET seq = ?2, state = ?3 WHERE id = ?1 AND seq = ?4`,
	qBehind:    `SELECT ` + headColumns + ` FROM entries e WHERE e.thread = ?1 AND e.seq > ?2 ORDER BY e.seq`,
	qFlags:     `SELECT flags FROM threads WHERE name = ?1`,
	qAddEntry:  `INSERT INTO entries (id, thread, seq, cid, head, body, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`,
	qHead:      `SELECT head FROM entries WHERE thread = ?1 AND seq = ?2`,

	qAddID:   `INSERT INTO ids (id, entry) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET entry = ?2 WHERE entry = ?2`,
	qDropID:  `DELETE FROM ids WHERE id = ?1`,
	qDropCID: `UPDATE entries SET cid = NULL WHERE id = ?1`,
	qPlaceCID: `SELECT e.id, e.seq, t.id, t.name FROM entries e INDEXED BY entries_cid JOIN threads t ON t.id = e.thread
		WHERE e.cid = ?1`,
	qPlaceID: `SELECT e.id, e.seq, t.id, t.name FROM ids i JOIN entries e ON e.id = i.entry JOIN threads t ON t.id = e.thread
		WHERE i.id = ?1`,
	qAddOrder:  `INSERT INTO orders (coordination, ord, entry) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
	qDropOrder: `DELETE FROM orders WHERE coordination = ?1 AND ord = ?2 AND entry = ?3`,
	qEntry: `SELECT ` + headColumns + `, t.name FROM entries e JOIN threads t ON t.id = e.thread
		WHERE e.id = ?1`,

	qRead: `SELECT ` + headColumns + `, e.gone, e.pack, e.body FROM threads t JOIN entries e ON e.thread = t.id
		WHERE t.name = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`,
	qReadBack: `SELECT ` + headColumns + `, e.gone, e.pack, e.body FROM threads t JOIN entries e ON e.thread = t.id
		WHERE t.name = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq DESC`,
	qReadHeaders: `SELECT ` + headColumns + ` FROM threads t JOIN entries e ON e.thread = t.id
		WHERE t.name = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`,
	qReadHeadersBack: `SELECT ` + headColumns + ` FROM threads t JOIN entries e ON e.thread = t.id
		WHERE t.name = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq DESC`,
	qReadOne: `SELECT ` + headColumns + `, e.gone, e.pack, e.body FROM entries e
		WHERE e.thread = (SELECT id FROM threads WHERE name = ?1) AND e.seq = ?2`,
	qReadOneHeader: `SELECT ` + headColumns + ` FROM entries e
		WHERE e.thread = (SELECT id FROM threads WHERE name = ?1) AND e.seq = ?2`,

	qThreadID: `SELECT id FROM threads WHERE name = ?1`,
	// Walks, see threadLog. An entry that no checkpoint's id leads to by cid has a
	// negative number, in the table a mark before its head.
	qIndexWalk: `SELECT e.head, iif(e.cid IS NULL, -e.seq, e.seq), e.id FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`,
	qIndexWalkBack: `SELECT e.head, iif(e.cid IS NULL, -e.seq, e.seq), e.id FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq DESC`,
	qTableWalk:     `SELECT iif(e.cid IS NULL, x'ff' || e.head, e.head) FROM entries e WHERE e.id > ?1 ORDER BY e.id`,
	qTableWalkBack: `SELECT iif(e.cid IS NULL, x'ff' || e.head, e.head) FROM entries e WHERE e.id < ?1 ORDER BY e.id DESC`,

	// Checkpoints across threads, by order key.
	qAll: `SELECT cid AS ord, id AS entry FROM entries INDEXED BY entries_cid WHERE cid >= ?2
		UNION ALL SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord >= ?2 ORDER BY ord, entry`,
	qAllBack: `SELECT cid AS ord, id AS entry FROM entries INDEXED BY entries_cid WHERE cid <= ?2
		UNION ALL SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord <= ?2 ORDER BY ord DESC, entry DESC`,
	// The same, of one coordination, but for the checkpoints of its own thread.
	qMembers:     `SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord >= ?2 ORDER BY ord, entry`,
	qMembersBack: `SELECT ord, entry FROM orders WHERE coordination = ?1 AND ord <= ?2 ORDER BY ord DESC, entry DESC`,

	qThreadsByName: `SELECT ` + summaryColumns + ` FROM threads t INDEXED BY threads_name CROSS JOIN tails a ON a.id = t.id
		WHERE name >= ?1 ORDER BY name`,
	qThreadsByNameDown: `SELECT ` + summaryColumns + ` FROM threads t INDEXED BY threads_name CROSS JOIN tails a ON a.id = t.id
		WHERE name < ?1 ORDER BY name DESC`,
	// Those whose mark is ?2 or 3, merged by name.
	qThreadsActive: `SELECT ` + summaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = ?2 AND name >= ?1
		UNION ALL SELECT ` + summaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = 3 AND name >= ?1 ORDER BY 7`,
	qThreadsActiveDown: `SELECT ` + summaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = ?2 AND name < ?1
		UNION ALL SELECT ` + summaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = 3 AND name < ?1 ORDER BY 7 DESC`,
	qThreadsDue: `SELECT ` + summaryColumns + ` FROM threads t INDEXED BY threads_due CROSS JOIN tails a ON a.id = t.id
		WHERE due <= ?1 AND (due, name) > (?2, ?3) ORDER BY due, name`,

	qThreadByID: `SELECT ` + summaryColumns + ` FROM threads t JOIN tails a ON a.id = t.id
		WHERE t.id = ?1`,
	// Up to maxGateLists lists, merged by id. No row has list 0.
	qGates: `SELECT id, thread FROM gates WHERE list = ?2 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?3 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?4 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?5 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?6 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?7 AND id > ?1 ORDER BY id`,
	qGatesDown: `SELECT id, thread FROM gates WHERE list = ?2 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?3 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?4 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?5 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?6 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?7 AND id < ?1 ORDER BY id DESC`,
	qAddGate:    `INSERT INTO gates (list, id, thread) VALUES (?1, ?2, ?3) ON CONFLICT (list, id) DO UPDATE SET thread = ?3`,
	qDropGate:   `DELETE FROM gates WHERE list = ?1 AND id = ?2 AND thread = ?3`,
	qHasGate:    `SELECT 1 FROM gates WHERE list = ?1 AND id = ?2 AND thread = ?3`,
	qCountGates: `SELECT count(*) FROM gates`,
	qCheckGates: `SELECT list, id, thread FROM gates`,

	qSlot: `SELECT value, revision, fence FROM slots WHERE thread = ?1 AND step = ?2`,
	qSlots: `SELECT thread, step, value, revision, fence FROM slots WHERE thread >= ?1 AND (thread, step) > (?1, ?2) AND value IS NOT NULL
		ORDER BY thread, step`,
	qPutSlot: `INSERT INTO slots (thread, step, revision, fence, value) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (thread, step) DO UPDATE SET revision = ?3, fence = ?4, value = ?5`,

	qPack:      `SELECT data FROM packs WHERE id = ?1`,
	qAddPack:   `INSERT INTO packs (id, data) VALUES (?1, ?2)`,
	qDropPack:  `DELETE FROM packs WHERE id = ?1`,
	qSetPacked: `UPDATE entries SET gone = ?2, pack = ?3, body = NULL WHERE id = ?1`,
	qSetBody:   `UPDATE entries SET gone = ?2, pack = NULL, body = ?3 WHERE id = ?1`,
	qBlock: `SELECT ` + headColumns + `, e.gone, e.pack, e.body FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`,
	qNextInline: `SELECT e.seq FROM entries e WHERE e.thread = ?1 AND e.seq >= ?2 AND e.body IS NOT NULL ORDER BY e.seq LIMIT 1`,

	qNextThread: `SELECT id FROM threads WHERE id > ?1 ORDER BY id LIMIT 1`,

	qDropEntries: `DELETE FROM entries WHERE thread = ?1 AND seq >= ?2 AND seq < ?3`,
	qDropThread:  `DELETE FROM threads WHERE id = ?1`,
	qDropTail:    `DELETE FROM tails WHERE id = ?1`,
	qDropSlots:   `DELETE FROM slots WHERE thread = ?1`,

	qAddIndexTerm:   `INSERT INTO terms (term, thread, stretch) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
	qDropIndexTerm:  `DELETE FROM terms WHERE term = ?1 AND thread = ?2 AND stretch = ?3`,
	qHasIndexTerm:   `SELECT 1 FROM terms WHERE term = ?1 AND thread = ?2 AND stretch = ?3`,
	qCountIndexTerm: `SELECT count(*) FROM (SELECT 1 FROM terms WHERE term = ?1 LIMIT ?2)`,
	qSegments: `SELECT m.thread, m.stretch, t.flags, t.name FROM terms m CROSS JOIN threads t ON t.id = m.thread
		WHERE m.term = ?1 ORDER BY m.thread, m.stretch`,
	qSegmentFrom: `SELECT stretch FROM terms WHERE term = ?1 AND thread = ?2 AND stretch >= ?3 ORDER BY stretch LIMIT 1`,
	qSegmentTo:   `SELECT stretch FROM terms WHERE term = ?1 AND thread = ?2 AND stretch <= ?3 ORDER BY stretch DESC LIMIT 1`,
	qAllHeads:    `SELECT e.thread, t.name, e.seq, e.head FROM entries e CROSS JOIN threads t ON t.id = e.thread ORDER BY e.id`,

	qWatch: `SELECT ` + headColumns + `, e.gone, e.pack, e.body, t.name FROM entries e CROSS JOIN threads t ON t.id = e.thread
		WHERE e.id > ?1 ORDER BY e.id`,
	qLastEntry: `SELECT max(ifnull((SELECT max(id) FROM entries), 0),
		ifnull((SELECT revision FROM slots WHERE thread = '' AND step = 'entries'), 0))`,
	qLastPack: `SELECT max(ifnull((SELECT max(id) FROM packs), 0),
		ifnull((SELECT revision FROM slots WHERE thread = '' AND step = 'packs'), 0))`,

	qThreadName:      `SELECT name FROM threads WHERE id = ?1`,
	qCheckLog:        `SELECT ` + headColumns + `, e.gone, e.pack FROM entries e WHERE e.thread = ?1 ORDER BY e.seq`,
	qHasOrder:        `SELECT 1 FROM orders WHERE coordination = ?1 AND ord = ?2 AND entry = ?3`,
	qCheckIDs:        `SELECT id, entry FROM ids`,
	qCheckOrders:     `SELECT ord, entry, coordination FROM orders`,
	qStrayTails:      `SELECT id FROM tails WHERE id NOT IN (SELECT id FROM threads)`,
	qStrayEntries:    `SELECT DISTINCT thread FROM entries WHERE thread NOT IN (SELECT id FROM threads)`,
	qStrayIndexTerms: `SELECT DISTINCT thread FROM terms WHERE thread NOT IN (SELECT id FROM threads)`,
	qStrayPacks:      `SELECT id FROM packs WHERE id NOT IN (SELECT pack >> 8 FROM entries WHERE pack IS NOT NULL)`,
	qLostPacks:       `SELECT DISTINCT pack >> 8 FROM entries WHERE pack IS NOT NULL AND pack >> 8 NOT IN (SELECT id FROM packs)`,
}
