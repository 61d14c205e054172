package sqlitestore

import (
	"bytes"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/delta"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A pack holds bodies of one block: up to blockSize entries of one thread that follow
// each other. Blocks are aligned, so an entry's sequence number gives its block. A pack's
// id is never used twice, so a cached pack is never stale.
const (
	blockSize    = 128
	maxPackBytes = 1 << 20 // unpacked; a larger body has a pack of its own
	maxRemember  = 16 << 20
)

// packs are those of all threads. They are written by who writes the entries in them, in
// the same transaction.
type packs struct {
	packer delta.Packer
	cache  packCache
}

// A packCache keeps the packs that were unpacked last.
type packCache struct {
	mu    sync.Mutex
	packs map[int64][][]byte
	size  int
}

func (c *packCache) get(id int64) ([][]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	items, ok := c.packs[id]
	return items, ok
}

// put adds a pack. It drops all others if there would be too many.
func (c *packCache) put(id int64, items [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := weight(items)
	if c.packs == nil || c.size+n > maxRemember {
		c.packs, c.size = map[int64][][]byte{}, 0
	}
	c.size += n - weight(c.packs[id])
	c.packs[id] = items
}

func (c *packCache) drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size -= weight(c.packs[id])
	delete(c.packs, id)
}

func (c *packCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.packs, c.size = nil, 0
}

func weight(items [][]byte) (n int) {
	for _, it := range items {
		n += 64 + len(it)
	}
	return n
}

// unpack replaces a reference to a pack by a copy of the bytes.
func (all *packs) unpack(c *db.Conn, b *layout.Stored) error {
	if b.Pack == 0 {
		return nil
	}
	id, i := b.Pack>>8, int(b.Pack&0xff)
	items, ok := all.cache.get(id)
	if !ok {
		var data []byte
		if _, err := c.Row(qPack, func(stmt *sqlite.Stmt) { data = db.Bytes(stmt, 0) }, id); err != nil {
			return err
		}
		var err error
		items, err = all.packer.Unpack(data)
		if err != nil {
			return posthouse.Corrupt("pack %d: %v", id, err)
		}
		all.cache.put(id, items)
	}
	if i >= len(items) {
		return posthouse.Corrupt("pack %d has %d items; an entry refers to item %d", id, len(items), i)
	}
	b.Body, b.Pack = bytes.Clone(items[i]), 0
	return nil
}

// A row is an entry in a rewrite of its block.
type row struct {
	id   int64
	e    *posthouse.Entry
	was  layout.Stored
	body layout.Stored // unpacked
	gone bool          // the rewrite removes a body
}

// sealed reports whether all bodies of the row are encrypted, so that they cannot be
// compressed. They were compressed before.
func (r *row) sealed() bool {
	recs, err := r.e.Records()
	for i := range recs {
		if recs[i].Size > 0 && !recs[i].Sealed {
			return false
		}
	}
	return err == nil
}

// block reads the entries in the block of a sequence number.
func (all *packs) block(w *writer, thread int64, seq uint64) (rows []*row, err error) {
	start := seq / blockSize * blockSize
	for stmt, err := range w.Rows(qBlock, thread, start, start+blockSize-1) {
		if err != nil {
			return nil, err
		}
		e, err := layout.ScanHead(stmt, "")
		if err != nil {
			return nil, err
		}
		b := layout.ScanBody(stmt)
		rows = append(rows, &row{id: stmt.ColumnInt64(layout.ColID), e: e, was: b, body: b})
	}
	for _, r := range rows {
		if err := all.unpack(w.Conn, &r.body); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// A repacking is a plan to write a block's bodies into new packs.
type repacking struct {
	rows   []*row
	old    map[int64]bool // packs that are no longer needed afterwards
	packs  []newPack
	before int // stored bytes
	after  int
}

type newPack struct {
	rows []*row
	data []byte
}

// plan compresses a block's bodies. It writes nothing.
func (all *packs) plan(w *writer, rows []*row) (*repacking, error) {
	p := &repacking{rows: rows, old: map[int64]bool{}}
	size := 0
	for _, r := range rows {
		if r.was.Pack != 0 {
			p.old[r.was.Pack>>8] = true
		}
		p.before += len(r.was.Body)
		n := len(r.body.Body)
		if n == 0 {
			continue
		}
		if r.was.Pack == 0 && !r.gone && r.sealed() {
			p.after += n // stays where it is
			continue
		}
		if len(p.packs) == 0 || size+n > maxPackBytes {
			p.packs, size = append(p.packs, newPack{}), 0
		}
		last := &p.packs[len(p.packs)-1]
		last.rows = append(last.rows, r)
		size += n
	}
	for i := range p.packs {
		items := make([][]byte, len(p.packs[i].rows))
		for j, r := range p.packs[i].rows {
			items[j] = r.body.Body
		}
		var err error
		p.packs[i].data, err = all.packer.Pack(items)
		if err != nil {
			return nil, err
		}
		p.after += len(p.packs[i].data)
	}
	for id := range p.old {
		n, err := packSize(w.Conn, id)
		if err != nil {
			return nil, err
		}
		p.before += n
	}
	return p, nil
}

// repack carries out the plan.
func (all *packs) repack(w *writer, p *repacking) error {
	for _, n := range p.packs {
		id, err := w.addPack(n.data)
		if err != nil {
			return err
		}
		for i, r := range n.rows {
			if err := w.Run(qSetPacked, r.id, []byte(r.body.Gone), id<<8|int64(i)); err != nil {
				return err
			}
		}
	}
	for _, r := range p.rows {
		if len(r.body.Body) == 0 && (r.was.Pack != 0 || r.gone) {
			if err := w.Run(qSetBody, r.id, []byte(r.body.Gone), nil); err != nil {
				return err
			}
		}
	}
	for id := range p.old {
		if err := all.drop(w, id); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addPack(data []byte) (id int64, err error) {
	if w.nextPack == 0 {
		w.nextPack, err = layout.LastPack(w.Conn)
		if err != nil {
			return 0, err
		}
		w.nextPack++
	}
	id = w.nextPack
	w.nextPack++
	return id, w.Run(qAddPack, id, data)
}

func packSize(c *db.Conn, id int64) (n int, err error) {
	_, err = c.Row(qPack, func(stmt *sqlite.Stmt) { n = stmt.ColumnLen(0) }, id)
	return n, err
}

// drop deletes a pack. It makes sure that the id is never used again.
func (all *packs) drop(w *writer, id int64) error {
	last, err := layout.LastPack(w.Conn)
	if err == nil && last == id {
		err = layout.SetNumber(w.Conn, layout.NumberPacks, last)
	}
	if err != nil {
		return err
	}
	all.cache.drop(id)
	return w.Run(qDropPack, id)
}
