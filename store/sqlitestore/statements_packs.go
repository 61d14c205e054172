package sqlitestore

import "github.com/posthouse/posthouse/store/sqlitestore/internal/layout"

// The statements, prepared when first used.
const (
	qPack      = `SELECT data FROM packs WHERE id = ?1`
	qAddPack   = `INSERT INTO packs (id, data) VALUES (?1, ?2)`
	qDropPack  = `DELETE FROM packs WHERE id = ?1`
	qSetPacked = `UPDATE entries SET gone = ?2, pack = ?3, body = NULL WHERE id = ?1`
	qSetBody   = `UPDATE entries SET gone = ?2, pack = NULL, body = ?3 WHERE id = ?1`
	qBlock     = `SELECT ` + layout.HeadColumns + `, e.gone, e.pack, e.body FROM entries e
		WHERE e.thread = ?1 AND e.seq >= ?2 AND e.seq <= ?3 ORDER BY e.seq`
)
