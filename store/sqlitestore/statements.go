package sqlitestore

import "github.com/posthouse/posthouse/store/sqlitestore/internal/layout"

// The statements, prepared when first used. Values of callers are bound as
// parameters and never part of the text.
const (
	qAddThread = `INSERT INTO threads (name, flags, active, due, minute) VALUES (?1, ?2, ?3, ?4, ?5)`
	qSetThread = `UPDATE threads SET flags = ?2, active = ?3, due = ?4 WHERE id = ?1`
	qSetMinute = `UPDATE threads SET minute = ?2 WHERE id = ?1`
	qAddTail   = `INSERT INTO tails (id, seq, state) VALUES (?1, ?2, ?3)`
	qSetTail   = `UPDATE tails SET seq = ?2, state = ?3 WHERE id = ?1 AND seq = ?4`
	qAddEntry  = `INSERT INTO entries (id, thread, seq, cid, head, body, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`
	qHead      = `SELECT head FROM entries WHERE thread = ?1 AND seq = ?2`

	qAddID     = `INSERT INTO ids (id, entry) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET entry = ?2 WHERE entry = ?2`
	qDropID    = `DELETE FROM ids WHERE id = ?1`
	qDropCID   = `UPDATE entries SET cid = NULL WHERE id = ?1`
	qAddOrder  = `INSERT INTO orders (coordination, ord, entry) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`
	qDropOrder = `DELETE FROM orders WHERE coordination = ?1 AND ord = ?2 AND entry = ?3`

	fromRange = ` FROM threads t JOIN entries e ON e.thread = t.id
		WHERE t.name = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`
	fromOne = ` FROM entries e
		WHERE e.thread = (SELECT id FROM threads WHERE name = ?1) AND e.seq = ?2`
	qRead            = `SELECT ` + layout.BodyColumns + fromRange
	qReadBack        = `SELECT ` + layout.BodyColumns + fromRange + ` DESC`
	qReadHeaders     = `SELECT ` + layout.HeadColumns + fromRange
	qReadHeadersBack = `SELECT ` + layout.HeadColumns + fromRange + ` DESC`
	qReadOne         = `SELECT ` + layout.BodyColumns + fromOne
	qReadOneHeader   = `SELECT ` + layout.HeadColumns + fromOne
	qBlock           = `SELECT ` + layout.BodyColumns + ` FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`

	qThreadsByName = `SELECT ` + layout.SummaryColumns + ` FROM threads t INDEXED BY threads_name CROSS JOIN tails a ON a.id = t.id
		WHERE name >= ?1 ORDER BY name`
	qThreadsByNameDown = `SELECT ` + layout.SummaryColumns + ` FROM threads t INDEXED BY threads_name CROSS JOIN tails a ON a.id = t.id
		WHERE name < ?1 ORDER BY name DESC`
	// Threads with the mark ?2 or 3, merged by name.
	qThreadsActive = `SELECT ` + layout.SummaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = ?2 AND name >= ?1
		UNION ALL SELECT ` + layout.SummaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = 3 AND name >= ?1 ORDER BY 7`
	qThreadsActiveDown = `SELECT ` + layout.SummaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = ?2 AND name < ?1
		UNION ALL SELECT ` + layout.SummaryColumns + `, t.name FROM threads t INDEXED BY threads_active CROSS JOIN tails a ON a.id = t.id
		WHERE active = 3 AND name < ?1 ORDER BY 7 DESC`
	qThreadsNewest = `SELECT ` + layout.SummaryColumns + `, minute FROM threads t INDEXED BY threads_minute CROSS JOIN tails a ON a.id = t.id
		WHERE (minute, name) < (?1, ?2) ORDER BY minute DESC, name DESC`
	qThreadsDue = `SELECT ` + layout.SummaryColumns + ` FROM threads t INDEXED BY threads_due CROSS JOIN tails a ON a.id = t.id
		WHERE due <= ?1 AND (due, name) > (?2, ?3) ORDER BY due, name`

	// Up to maxGateLists lists, merged by id. No row has list 0.
	qGates = `SELECT id, thread FROM gates WHERE list = ?2 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?3 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?4 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?5 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?6 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?7 AND id > ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?8 AND id > ?1 ORDER BY id`
	qGatesDown = `SELECT id, thread FROM gates WHERE list = ?2 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?3 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?4 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?5 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?6 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?7 AND id < ?1
		UNION ALL SELECT id, thread FROM gates WHERE list = ?8 AND id < ?1 ORDER BY id DESC`
	qAddGate  = `INSERT INTO gates (list, id, thread) VALUES (?1, ?2, ?3) ON CONFLICT (list, id) DO UPDATE SET thread = ?3`
	qDropGate = `DELETE FROM gates WHERE list = ?1 AND id = ?2 AND thread = ?3`

	qAddMark  = `INSERT INTO marks (mark, minute, name, thread) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (mark, minute, name) DO UPDATE SET thread = ?4`
	qDropMark = `DELETE FROM marks WHERE mark = ?1 AND minute = ?2 AND name = ?3`
	qMarked   = `SELECT thread, name, minute FROM marks WHERE mark >= ?1 AND mark < ?2 LIMIT ?3`
	qNamed    = `SELECT id, name, minute FROM threads INDEXED BY threads_name WHERE name >= ?1 ORDER BY name LIMIT ?2`
	qMarkWalk = `SELECT ` + layout.SummaryColumns + `, m.minute FROM marks m CROSS JOIN threads t ON t.id = m.thread CROSS JOIN tails a ON a.id = t.id
		WHERE m.mark = ?1 AND (m.minute, m.name) < (?2, ?3) ORDER BY m.minute DESC, m.name DESC`

	qSlot  = `SELECT value, revision, fence, sum FROM slots WHERE thread = ?1 AND step = ?2`
	qSlots = `SELECT thread, step, value, revision, fence, sum FROM slots WHERE thread >= ?1 AND (thread, step) > (?1, ?2) AND value IS NOT NULL
		ORDER BY thread, step`
	qPutSlot = `INSERT INTO slots (thread, step, revision, fence, value, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
		ON CONFLICT (thread, step) DO UPDATE SET revision = ?3, fence = ?4, value = ?5, sum = ?6`

	qNextInline = `SELECT e.seq FROM entries e WHERE e.thread = ?1 AND e.seq >= ?2 AND e.body IS NOT NULL ORDER BY e.seq LIMIT 1`

	qDropEntries = `DELETE FROM entries WHERE thread = ?1 AND seq >= ?2 AND seq < ?3`
	qDropThread  = `DELETE FROM threads WHERE id = ?1`
	qDropTail    = `DELETE FROM tails WHERE id = ?1`
	qDropSlots   = `DELETE FROM slots WHERE thread = ?1`

	qPack      = `SELECT data FROM packs WHERE id = ?1`
	qAddPack   = `INSERT INTO packs (id, data) VALUES (?1, ?2)`
	qDropPack  = `DELETE FROM packs WHERE id = ?1`
	qSetPacked = `UPDATE entries SET gone = ?2, pack = ?3, body = NULL WHERE id = ?1`
	qSetBody   = `UPDATE entries SET gone = ?2, pack = NULL, body = ?3 WHERE id = ?1`

	qWatch = `SELECT ` + layout.BodyColumns + `, t.name FROM entries e CROSS JOIN threads t ON t.id = e.thread
		WHERE e.id > ?1 ORDER BY e.id`
)
