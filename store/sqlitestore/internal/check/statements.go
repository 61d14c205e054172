package check

import "github.com/posthouse/posthouse/store/sqlitestore/internal/layout"

// The statements, prepared when first used.
const (
	qMinute = `SELECT minute FROM threads WHERE id = ?1`

	qHasGate    = `SELECT 1 FROM gates WHERE list = ?1 AND id = ?2 AND thread = ?3`
	qCountGates = `SELECT count(*) FROM gates`
	qCheckGates = `SELECT list, id, thread FROM gates`

	qCheckLog        = `SELECT ` + layout.HeadColumns + `, e.gone, e.pack FROM entries e WHERE e.thread = ?1 ORDER BY e.seq`
	qHasOrder        = `SELECT 1 FROM orders WHERE coordination = ?1 AND ord = ?2 AND entry = ?3`
	qCheckIDs        = `SELECT id, entry FROM ids`
	qCheckOrders     = `SELECT ord, entry, coordination FROM orders`
	qStrayTails      = `SELECT id FROM tails WHERE id NOT IN (SELECT id FROM threads)`
	qStrayEntries    = `SELECT DISTINCT thread FROM entries WHERE thread NOT IN (SELECT id FROM threads)`
	qStrayIndexTerms = `SELECT DISTINCT thread FROM terms WHERE thread NOT IN (SELECT id FROM threads)`
	qStrayPacks      = `SELECT id FROM packs WHERE id NOT IN (SELECT pack >> 8 FROM entries WHERE pack IS NOT NULL)`
	qLostPacks       = `SELECT DISTINCT pack >> 8 FROM entries WHERE pack IS NOT NULL AND pack >> 8 NOT IN (SELECT id FROM packs)`
)
